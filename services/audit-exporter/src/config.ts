import { z } from 'zod';
import { readEnvironment, variable } from '@lemniscate/shared/config/environment.ts';

/** Every variable of the exporter. */
const exporterVariables = z.object({
  /** Direct, not through a transaction pooler: the exporter's lock belongs to its session. */
  DATABASE_URL: variable.url('postgres:', 'postgresql:'),
  /** Newline-delimited JSON, one entry a line. Absent: no file sink. */
  LEMNISCATE_SINK_FILE: variable.text().optional(),
  /** YAML or JSON file with further receivers: `sinks/sink-file.ts` has its shape. */
  LEMNISCATE_SINKS: variable.text().optional(),
  /** Private key that signs the log's checkpoints; made when the log has none yet. Absent: the log is not sealed. */
  LEMNISCATE_LOG_KEY: variable.text().optional(),
  /** Key to hand the log over to. */
  LEMNISCATE_LOG_KEY_NEXT: variable.text().optional(),
  /** After a restore of the database: file with the last checkpoint that the receivers have. */
  LEMNISCATE_LOG_RESTORED_FROM: variable.text().optional(),
  /** Folder that stays, for the last signed checkpoint and the public key. Absent: beside the key. */
  LEMNISCATE_LOG_MEMORY: variable.text().optional(),
  /** Seconds between checkpoints, also when nothing happens. */
  LEMNISCATE_LOG_CHECKPOINT_SECONDS: variable.integer(1, 3_600).default(10),
  /** Where /healthz, /readyz and /metrics listen: open to whoever reaches it, so loopback unless a network is private. */
  LEMNISCATE_EXPORTER_HOST: variable.text().default('127.0.0.1'),
  /** Their port; 0: none. */
  LEMNISCATE_EXPORTER_PORT: variable.integer(0, 65_535).default(0),
  /** OpenTelemetry collector that spans and metrics are sent to; its other `OTEL_…` variables hold too. Absent: none. */
  OTEL_EXPORTER_OTLP_ENDPOINT: variable.url('http:', 'https:').optional(),
  LEMNISCATE_EXIT_WITH_PARENT: variable.boolean().default(false),
  /** For the chaos harness alone: a plan of where this process kills itself. */
  LEMNISCATE_CRASH_POINTS: variable.text().optional(),
});
export type ExporterConfig = z.infer<typeof exporterVariables>;

/** @throws CodedError `configuration_invalid` */
export function readExporterConfig(
  environment: Readonly<Record<string, string | undefined>>,
): ExporterConfig {
  return readEnvironment(exporterVariables, environment);
}
