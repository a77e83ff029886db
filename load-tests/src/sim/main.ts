import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { usualDay } from './day.ts';
import { writeReport } from './report.ts';
import { simulateDay } from './simulate.ts';

// `npm run sim [-- --sessions N --servers N --seed N --to FOLDER]`: simulates a day and writes the page on capacity with
// its plots. The same seed gives the same page.

const { values } = parseArgs({
  options: {
    sessions: { type: 'string', default: '5000000' },
    servers: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
    to: { type: 'string', default: join(import.meta.dirname, '../../../docs/operations') },
  },
});
const [sessions, servers, seed] = [Number(values.sessions), Number(values.servers), Number(values.seed)];
if (![sessions, servers, seed].every((number) => Number.isSafeInteger(number) && number > 0)) {
  console.error('--sessions, --servers and --seed take whole numbers above 0.');
  process.exit(2);
}
const plan = usualDay({ sessions, servers, seed });
const from = performance.now();
const day = simulateDay(plan);
const took = (performance.now() - from) / 1_000;
for (const [name, text] of Object.entries(writeReport(plan, day))) {
  const file = join(values.to, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  console.log(file);
}
console.log(`${day.opened} sessions on ${servers} servers in ${took.toFixed(0)} s`);
