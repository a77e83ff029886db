import { dashboardFile, dashboards } from './dashboards.ts';
import { rulesFile } from './rules-file.ts';

/** The files that Prometheus and Grafana read, by their path below `infra/observability`. */
export function generatedFiles(): ReadonlyMap<string, string> {
  return new Map([
    ['alerts/lemniscate.rules.yml', rulesFile()],
    ...dashboards.map((board) => [`dashboards/${board.uid}.json`, dashboardFile(board)] as const),
  ]);
}
