import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { openCertificateAuthority } from './certificate-authority.ts';
import { projectRoot } from './project-root.ts';

// What the compose file needs beside images: certificates, passwords, a login, the sandboxes' profile. Run again it keeps
// what is there, but for certificates and a login that are about to end. `prepare-compose.ts FOLDER [DOCKER-SOCKET]`

/** The account of every container. */
const account = 10_001;
const validDays = 7;

const [given, socket = '/var/run/docker.sock'] = process.argv.slice(2);
if (given === undefined) throw new Error('usage: prepare-compose.ts FOLDER [DOCKER-SOCKET]');
const folder = resolve(given);
const certificates = join(folder, 'certificates');
const state = join(folder, 'agent-server');
for (const part of [folder, certificates, state]) mkdirSync(part, { recursive: true, mode: 0o711 });

const authority = await openCertificateAuthority(certificates);
for (const [role, name] of [
  ['dispatcher', 'compose'],
  ['agent-server', 'compose'],
  ['monitor', 'syslog'],
] as const)
  await authority.certificateFor(role, name);

/** Whether a login that is there has less than a day left. */
function isEnding(file: string): boolean {
  if (!existsSync(file)) return false;
  const { expiresAt } = JSON.parse(readFileSync(file, 'utf8')) as { expiresAt: string };
  return Date.parse(expiresAt) < Date.now() + 86_400_000;
}

const once = (name: string, text: () => string): void => {
  const file = join(folder, name);
  if (!existsSync(file)) writeFileSync(file, text(), { mode: 0o600 });
};
const token = `lem_local_${randomBytes(32).toString('base64url')}`;
const expiresAt = new Date(Date.now() + validDays * 86_400_000).toISOString();
if (isEnding(join(folder, 'login.json'))) rmSync(join(folder, 'login.json'));
once('login.json', () => JSON.stringify({ token, subject: 'local:compose', name: 'compose', expiresAt }));
once(
  'profiles.yaml',
  () => 'profiles:\n  default: { image: "lemniscate/agent-base:slim", memory: 1GiB, tmp: 64MiB }\n',
);
once('sinks.yaml', () =>
  'sinks:\n  - { kind: syslog, host: 127.0.0.1, port: ${SYSLOG_PORT}, caFile: /certificates/ca.pem }\n'.replace(
    '${SYSLOG_PORT}',
    process.env['SYSLOG_PORT'] ?? '6514',
  ),
);
once('.env', () =>
  [
    `COMPOSE_PROJECT_NAME=lemniscate`,
    `LEMNISCATE_COMPOSE=${folder}`,
    `POSTGRES_PASSWORD=${randomBytes(24).toString('hex')}`,
    `S3_SECRET=${randomBytes(24).toString('hex')}`,
    `DOCKER_SOCKET=${socket}`,
    `DOCKER_GROUP=${existsSync(socket) ? statSync(socket).gid : 0}`,
    '',
  ].join('\n'),
);
cpSync(join(projectRoot, 'infra/local/policy.yaml'), join(folder, 'policy.yaml'));

if (process.getuid?.() === 0) {
  for (const name of [
    'login.json',
    'profiles.yaml',
    'sinks.yaml',
    'policy.yaml',
    'certificates',
    'agent-server',
  ])
    chownSync(join(folder, name), account, account);
  for (const name of readdirSync(certificates)) chownSync(join(certificates, name), account, account);
} else chmodSync(state, 0o777);
console.log(
  `docker-compose --env-file ${join(folder, '.env')} -f ${join(projectRoot, 'infra/compose/compose.yaml')} up -d`,
);
