import { colours } from './colours.ts';
import { checks, runCheck } from './gate/checks.ts';
import type { CheckEnd } from './gate/checks.ts';
import { projectRoot } from './project-root.ts';
import { runMain } from './run-main.ts';
import { closingLine } from './testing/tally.ts';

// `npm run gate`: types, lint, format, unused code and import directions, two at a time. To stay under 15 s.

await runMain(async (stopped) => {
  const waiting = [...checks];
  const ends: CheckEnd[] = [];
  const work = async () => {
    for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
      const end = await runCheck(check, projectRoot, stopped);
      ends.push(end);
      show(end);
    }
  };
  await Promise.all([work(), work()]);
  if (stopped.aborted) return 130;
  const failed = ends.filter((end) => !end.passed).length;
  console.log(closingLine(ends.length - failed, failed, 0));
  return failed > 0 ? 1 : 0;
});

function show(end: CheckEnd): void {
  console.log(
    `${end.passed ? colours.green('passed') : colours.red('failed')} ${end.check.name} (${end.durationMs} ms)`,
  );
  if (!end.passed) console.log(end.output.trim());
}
