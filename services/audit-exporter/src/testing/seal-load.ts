import { systemClock } from '@lemniscate/shared/clock.ts';
import { createLogSigner } from '../adapters/log-key.ts';
import { beginTerm } from '../adapters/postgres/term.ts';
import { prepareSeal, sealOnce } from '../application/seal-log.ts';

// The exporter's own sealing over what has been appended, for the benchmark, which may not import a service:
// `node seal-load.ts DATABASE_URL KEY_FILE`; writes one JSON object.

const orderedAtOnce = 1_000;
const [url = '', key = ''] = process.argv.slice(2);
const term = await beginTerm(
  url,
  () => undefined,
  systemClock.now,
  () => undefined,
);
try {
  if (!(await term.lead())) throw new Error('Another exporter leads this log.');
  const deps = {
    store: term.seals,
    signer: createLogSigner({ key }),
    now: systemClock.now,
    everyMs: 3_600_000,
    subject: 'spiffe://lemniscate/audit-exporter',
  };
  const begin = performance.now();
  let entries = 0;
  for (let ordered = -1; ordered !== 0; entries += ordered) ordered = await term.store.order(orderedAtOnce);
  const placed = performance.now();
  const place = await prepareSeal(deps);
  while (await sealOnce(deps, place));
  const sealed = (await term.seals.last())?.frontier.size ?? 0;
  const rate = (since: number): number => Math.round(sealed / ((performance.now() - since) / 1_000));
  console.log(JSON.stringify({ entries, sealed, sealRate: rate(begin), signRate: rate(placed) }));
} finally {
  await term.end();
}
