import { soakExport } from './export-soak.ts';

// `node export-soak-main.ts ENTRIES KILL_EVERY_SECONDS SEED` with LEMNISCATE_TEST_DATABASE_URL: one JSON object on stdout.

const [entries = '0', seconds = '60', seed = '1'] = process.argv.slice(2);
const report = await soakExport({
  entries: Number(entries),
  killEveryMs: Number(seconds) * 1_000,
  seed: Number(seed),
  deadlineMs: 3_600_000,
  say: (line) => console.error(line),
});
console.log(JSON.stringify(report));
