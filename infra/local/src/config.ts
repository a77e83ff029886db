import { z } from 'zod';
import { readEnvironment, variable } from '@lemniscate/shared/config/environment.ts';

/** Variables that the local fleet itself reads; the services get theirs from it. */
export const localConfigSchema = z.object({
  /** Folder of everything that the fleet keeps; `.lemniscate` in the project root when absent. */
  LEMNISCATE_DATA: variable.text().optional(),
  /** Each of the next four replaces an embedded part. */
  DATABASE_URL: variable.url('postgres:', 'postgresql:').optional(),
  REDIS_URL: variable.url('redis:', 'rediss:').optional(),
  S3_ENDPOINT: variable.url('http:', 'https:').optional(),
  AGENT_SERVERS: variable.text().optional(),
  AWS_ACCESS_KEY_ID: variable.text().optional(),
  AWS_SECRET_ACCESS_KEY: variable.secret().optional(),
  AWS_REGION: variable.text().default('us-east-1'),
  S3_BUCKET: variable.text().default('lemniscate'),
  /** Ports of the public and of the internal API; free ones are chosen when absent. */
  LEMNISCATE_PORT: variable.integer(1, 65_535).optional(),
  LEMNISCATE_INTERNAL_PORT: variable.integer(1, 65_535).optional(),
  /** With AGENT_SERVERS: the authority and the dispatcher's certificate that those servers trust. */
  LEMNISCATE_TLS_CA: variable.text().optional(),
  LEMNISCATE_TLS_CERT: variable.text().optional(),
  LEMNISCATE_TLS_KEY: variable.text().optional(),
  /** Policy of the project `local`; the one beside the sample when absent. */
  LEMNISCATE_DEFAULT_POLICY: variable.text().optional(),
  LEMNISCATE_SANDBOX_DRIVER: variable.oneOf(['auto', 'bubblewrap', 'docker']).default('auto'),
});
export type LocalConfig = z.infer<typeof localConfigSchema>;

type Environment = Readonly<Record<string, string | undefined>>;

/** @throws CodedError `configuration_invalid` naming every faulty variable */
export function readLocalConfig(environment: Environment): LocalConfig {
  return readEnvironment(localConfigSchema, environment);
}
