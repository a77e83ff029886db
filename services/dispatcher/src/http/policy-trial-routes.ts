import { z } from 'zod';
import { policyTrialSchema, policyVerdictsSchema } from '@lemniscate/shared/api/policy-trial.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { evaluateToolCall } from '@lemniscate/shared/policy/evaluate.ts';
import { checkPolicy } from '@lemniscate/shared/policy/policy-file.ts';
import { policySchema } from '@lemniscate/shared/policy/policy.ts';
import type { Policy } from '@lemniscate/shared/policy/policy.ts';
import { readPolicyVersion } from '../application/projects/policy-versions.ts';
import type { Database } from '../application/ports/transaction.ts';
import type { App } from './app.ts';

export interface PolicyTrialDeps {
  readonly database: Database;
}

const projectParams = z.object({ id: z.string().min(1).max(128) });

/** Public listener: what a policy would say of commands. The pure function decides that decides at a permit; nothing runs. */
export function registerPolicyTrialRoutes(app: App, deps: PolicyTrialDeps): void {
  app.post(
    '/v1/projects/:id/policy/try',
    { schema: { params: projectParams, body: policyTrialSchema, response: { 200: policyVerdictsSchema } } },
    async (request) => {
      const { commands, policy: text } = request.body;
      const found = await readPolicyVersion(deps.database, request.params.id, null);
      const policy = text === undefined ? policySchema.parse(found.policy) : readText(text);
      return {
        verdicts: commands.map((command) => {
          const { verdict, reasons } = evaluateToolCall(policy, {
            tool: 'run_command',
            arguments: { command },
          });
          return { verdict, reasons: [...reasons] };
        }),
      };
    },
  );
}

function readText(text: string): Policy {
  const { policy, faults } = checkPolicy(text);
  if (policy !== undefined) return policy;
  const told = faults.slice(0, 5).map(({ line, path, message }) => `line ${line}: ${path} ${message}`);
  throw new CodedError('request_invalid', `The policy cannot be read. ${told.join('; ')}.`, { faults: told });
}
