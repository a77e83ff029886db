import { z } from 'zod';
import { changePoolSchema, poolListSchema } from '@lemniscate/shared/api/pool.ts';
import { placementName } from '@lemniscate/shared/queue/placement-class.ts';
import { metricsFormats, metricsText } from '@lemniscate/shared/telemetry/metrics-text.ts';
import { listPools, poolFamilies } from '../application/servers/list-pools.ts';
import { setPacking } from '../application/servers/set-packing.ts';
import type { PackingDeps } from '../application/servers/set-packing.ts';
import type { App } from './app.ts';
import { personOf } from './identity.ts';
import { etagOf, readIfMatch } from './versions.ts';

const poolParams = z.object({ pool: z.string().regex(placementName, 'must be the name of a pool') });

/** Public listener: what a scaler follows, as JSON and for scrapers, and how a pool is filled. */
export function registerPoolRoutes(app: App, deps: PackingDeps): void {
  app.get('/v1/pools', { schema: { response: { 200: poolListSchema } } }, async () => ({
    pools: await listPools(deps.database),
  }));

  app.get('/v1/pools/metrics', async (_request, reply) =>
    reply.type(metricsFormats.text).send(metricsText(poolFamilies(await listPools(deps.database)))),
  );

  app.put(
    '/v1/pools/:pool',
    { schema: { params: poolParams, body: changePoolSchema } },
    async (request, reply) => {
      const { pool } = request.params;
      const seen = readIfMatch(request, 'pool');
      const version = await setPacking(deps, personOf(request), pool, request.body.packing, seen);
      void reply.header('etag', etagOf(version));
      return reply.code(204).send();
    },
  );
}
