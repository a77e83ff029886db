import { placementClass } from '@lemniscate/shared/queue/placement-class.ts';
import type { ProjectTerms } from '../projects/project.ts';
import type { Build } from './begin-build.ts';

/** Where a build runs that no session waits for: on any server that the project's own sessions may have. */
export function placeOfBuild({
  policy,
  queue,
}: ProjectTerms): Pick<Build, 'execution' | 'placementClass' | 'pinnedServer'> {
  return {
    execution: 'server',
    placementClass: placementClass({
      pool: queue.pool,
      runtime: 'native',
      profile: policy.sandboxProfile,
      architecture: queue.architecture ?? undefined,
      labels: queue.labels,
    }),
    pinnedServer: null,
  };
}
