import type { ApiClient } from '@lemniscate/cli/api-client.ts';
import { policyVersionSchema, projectListSchema } from '@lemniscate/shared/api/project.ts';
import { z } from 'zod';
import { policies, projects } from './cast.ts';

/** A project as sessions freeze it. */
export interface ArrangedProject {
  readonly policy: unknown;
  readonly digest: string;
}

/** Makes the projects with two versions of their policy and their budgets, by the public API, where they are not there. */
export async function arrangeProjects(client: ApiClient): Promise<ReadonlyMap<string, ArrangedProject>> {
  const known = new Set((await client.json('/v1/projects', projectListSchema)).projects.map(({ id }) => id));
  const arranged = new Map<string, ArrangedProject>();
  const [first, second] = policies;
  for (const { id, budgetUsd } of projects) {
    if (!known.has(id)) {
      await client.json('/v1/projects', z.unknown(), { method: 'POST', body: { id, policy: first } });
      await client.json(`/v1/projects/${id}/policy`, z.unknown(), {
        method: 'PUT',
        text: second ?? '',
        headers: { 'content-type': 'application/yaml', 'if-match': '"1"' },
      });
      if (budgetUsd !== null)
        await client.json(`/v1/costs/budgets/project/${id}`, z.unknown(), {
          method: 'PUT',
          body: { amountUsd: budgetUsd },
          headers: { 'if-match': '"0"' },
        });
    }
    const { policy, digest } = await client.json(`/v1/projects/${id}/policy`, policyVersionSchema);
    arranged.set(id, { policy, digest });
  }
  return arranged;
}
