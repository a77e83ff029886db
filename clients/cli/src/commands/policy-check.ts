import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { policyAdvice } from '@lemniscate/shared/policy/policy-advice.ts';
import { policyDigest } from '@lemniscate/shared/policy/policy-digest.ts';
import { checkPolicy, maxPolicyLength } from '@lemniscate/shared/policy/policy-file.ts';
import { policyJsonSchema } from '@lemniscate/shared/policy/policy-json-schema.ts';
import { makeVisibleLine, visibleJson } from '@lemniscate/shared/text/visible.ts';
import type { Command } from 'commander';
import { exitCodes } from '../io.ts';
import type { CommandIo } from '../io.ts';
import { standardInput } from '../standard-input.ts';
import { policyCommand } from './policy-judge.ts';

/** `policy check` and `policy schema`: what an administrator runs before a policy is put in force. */
export function registerPolicyCheck(program: Command, io: CommandIo): void {
  const policy = policyCommand(program);
  policy
    .command('check')
    .description('Checks a policy file and names the line of every fault; "-" reads standard input.')
    .argument('<file>')
    .option('--json', 'faults, advice and digest as JSON')
    .action(async (file: string, options: { json?: boolean }) => {
      const text = await readPolicyText(file === '-' ? standardInput(io) : createReadStream(file), file);
      io.setExitCode(reportPolicy(text, file, io, options.json === true) ? exitCodes.done : exitCodes.usage);
    });
  policy
    .command('schema')
    .description('Prints the JSON Schema of a policy, for editors.')
    .option('--json', 'on one line')
    .action(({ json }: { json?: boolean }) => {
      io.stdout.write(`${JSON.stringify(policyJsonSchema(), null, json === true ? 0 : 2)}\n`);
    });
}

/** Prints what is to be said about a policy text. @returns whether it can be put in force */
export function reportPolicy(
  text: string,
  name: string,
  io: Pick<CommandIo, 'stdout' | 'stderr'>,
  json: boolean,
): boolean {
  const { policy, faults } = checkPolicy(text);
  const advice = policy === undefined ? [] : policyAdvice(policy);
  const digest = policy === undefined ? null : policyDigest(policy);
  if (json) {
    io.stdout.write(`${visibleJson({ valid: policy !== undefined, digest, faults, advice })}\n`);
    return policy !== undefined;
  }
  for (const { line, column, path, message } of faults)
    io.stderr.write(
      `${makeVisibleLine(name)}:${line}:${column}: ${makeVisibleLine(path === '' ? message : `${path}: ${message}`)}\n`,
    );
  for (const sentence of advice) io.stdout.write(`note: ${makeVisibleLine(sentence)}\n`);
  if (digest !== null)
    io.stdout.write(`${makeVisibleLine(name)} is a valid policy; its digest is ${digest}\n`);
  return policy !== undefined;
}

/** @throws CodedError `request_invalid` when the file cannot be read or is too long for a policy */
export async function readPolicyText(source: Readable, name: string): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of source) {
      const bytes = Buffer.from(chunk as Buffer | string);
      size += bytes.length;
      if (size > maxPolicyLength) throw new Error(`it is longer than ${maxPolicyLength} bytes`);
      chunks.push(bytes);
    }
  } catch (error) {
    throw new CodedError(
      'request_invalid',
      `The policy ${name} cannot be read: ${(error as Error).message}. Name a readable YAML file.`,
    );
  }
  return Buffer.concat(chunks).toString('utf8');
}
