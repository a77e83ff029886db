import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { z } from 'zod';
import type { SandboxProfile } from './ports/sandbox-driver.ts';

const units = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4 } as const;

/** `512MiB`, `1.5GiB`, or a number of bytes. */
const size = z.union([
  z.int().min(1),
  z
    .string()
    .regex(/^\d+(\.\d+)?(B|KiB|MiB|GiB|TiB)$/, 'must be a size such as 512MiB or 2GiB')
    .transform((text) => {
      const unit = /[A-Za-z]+$/.exec(text)?.[0] as keyof typeof units;
      return Math.floor(Number(text.slice(0, -unit.length)) * units[unit]);
    }),
]);

/** What a sandbox has of its own, or what the host keeps its secrets in. */
const notToolchains = [
  '/proc',
  '/sys',
  '/dev',
  '/run',
  '/tmp',
  '/var/tmp',
  '/etc',
  '/workspace',
  '/home/agent',
];

const isBelow = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

/** An absolute folder, and no part of what a sandbox has of its own; `:` and `,` are an engine's own punctuation. */
const toolchain = z
  .string()
  .max(1_000)
  .regex(
    /^(\/(?!\.{1,2}(\/|$))[^/:,\0]+)+$/,
    'must be an absolute folder such as /opt/go, without ":" and ","',
  )
  .refine(
    (path) => notToolchains.every((own) => !isBelow(path, own) && !isBelow(own, path)),
    `cannot be ${notToolchains.join(', ')}, anything in them or a folder that holds them`,
  );

/**
 * One profile as an operator writes it. The tmpfs sizes are memory, so they stay well below `memory`: filled up they
 * must give ENOSPC, not kill the sandbox (measured: 40 of 40 survived so, 40 of 40 died otherwise).
 */
const writtenProfile = z.strictObject({
  /** Docker: image, and OCI runtime. */
  image: z.string().min(1).max(500).optional(),
  runtime: z.enum(['runc', 'runsc', 'kata']).optional(),
  /** Cores, may be a fraction; and seconds of CPU time in all. */
  cpu: z.number().positive().max(1024).default(2),
  cpuSeconds: z
    .int()
    .min(1)
    .default(4 * 3600),
  memory: size.default(2 * units.GiB),
  processes: z.int().min(1).max(1_000_000).default(512),
  /** Size of the disk that holds `/workspace` and `/home/agent`, and how many files fit on it. */
  disk: size.default(5 * units.GiB),
  files: z.int().min(64).default(400_000),
  tmp: size.default(512 * units.MiB),
  shm: size.default(16 * units.MiB),
  toolchains: z.array(toolchain).max(32).optional(),
});

const profileName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,62}$/, 'a profile’s name is lower-case letters, digits and -');
const profilesSchema = z
  .strictObject({ profiles: z.record(profileName, writtenProfile) })
  .refine(({ profiles }) => Object.hasOwn(profiles, 'default'), 'there must be a profile `default`');

/**
 * The sandbox profiles that a server offers: a project's policy names one (`sandboxProfile`), without it is `default`.
 * @param document what an operator's file says; undefined for the built-in `default` alone
 * @throws CodedError `configuration_invalid` that names each fault
 */
export function readProfiles(document: unknown): SandboxProfile[] {
  const parsed = profilesSchema.safeParse(document ?? { profiles: { default: {} } });
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
    throw new CodedError(
      'configuration_invalid',
      `The sandbox profiles cannot be read: ${faults.join('; ')}.`,
      {
        faults,
      },
    );
  }
  return Object.entries(parsed.data.profiles).map(([name, written]) => ({
    name,
    memoryBytes: written.memory,
    processes: written.processes,
    cpus: written.cpu,
    cpuSeconds: written.cpuSeconds,
    diskBytes: written.disk,
    diskFiles: written.files,
    tmpBytes: written.tmp,
    shmBytes: written.shm,
    ...(written.image === undefined ? {} : { image: written.image }),
    ...(written.runtime === undefined ? {} : { ociRuntime: written.runtime }),
    ...(written.toolchains === undefined ? {} : { toolchains: written.toolchains }),
  }));
}
