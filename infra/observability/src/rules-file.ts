import { stringify } from 'yaml';
import { alerts } from './alerts.ts';
import { burnRates, serviceLevels } from './service-levels.ts';

/** Where runbooks are read; the rules' readers open it from the alert. */
const runbooks = 'https://github.com/lemniscate/lemniscate/blob/main/docs/operations/runbooks';
const windows = [...new Set(burnRates.flatMap(({ long, short }) => [long, short]))];

/** The rules as Prometheus reads them. */
export function rulesFile(): string {
  const groups = [
    {
      name: 'lemniscate',
      rules: alerts.map(({ name, runbook, expression, for: lasting, severity, summary }) => ({
        alert: name,
        expr: expression,
        for: lasting,
        labels: { severity },
        annotations: { summary, runbook_url: `${runbooks}/${runbook}.md` },
      })),
    },
    {
      name: 'lemniscate-service-levels',
      rules: serviceLevels.flatMap(({ name, bad, all }) =>
        windows.map((window) => ({
          record: `lemniscate:errors:ratio_rate${window}`,
          expr: `${bad(window)} / (${all(window)} > 0)`,
          labels: { slo: name },
        })),
      ),
    },
    {
      name: 'lemniscate-burn-rates',
      rules: serviceLevels.flatMap(({ name, promise, objective }) =>
        burnRates.map(({ severity, factor, long, short, for: lasting }) => ({
          alert: `LemniscateBudgetBurn_${name}_${long}`,
          expr: [long, short]
            .map(
              (window) =>
                `lemniscate:errors:ratio_rate${window}{slo="${name}"} > ${threshold(factor, objective)}`,
            )
            .join(' and '),
          for: lasting,
          labels: { severity, slo: name },
          annotations: {
            summary: `The error budget of “${promise}” burns ${factor} times too fast ({{ $value | humanizePercentage }} of the last ${long} went wrong).`,
            runbook_url: `${runbooks}/error-budget.md`,
          },
        })),
      ),
    },
  ];
  return `# Made by src/write-files.ts from alerts.ts and service-levels.ts.\n${stringify({ groups }, { lineWidth: 0 })}`;
}

const threshold = (factor: number, objective: number): number =>
  Number((factor * (1 - objective)).toPrecision(4));
