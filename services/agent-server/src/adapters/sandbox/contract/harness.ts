import type {
  Sandbox,
  SandboxCommand,
  SandboxCommandEnd,
  SandboxDriver,
  SandboxProfile,
} from '../../../application/ports/sandbox-driver.ts';

const MiB = 1024 * 1024;

/** What one driver brings to the contract. */
export interface ContractSubject {
  /** A driver as after a restart of the server: same state, same server id, nothing remembered. */
  create(): SandboxDriver;
  readonly profile: Pick<SandboxProfile, 'image' | 'ociRuntime'>;
  /** Whether its processes are the host kernel's, with its filters and control groups, or another kernel's. */
  readonly kernel: 'host' | 'own';
  /** Arguments for `parent-to-kill.ts`, which makes the same driver in a process of its own. */
  readonly parentArguments: readonly string[];
}

/** Small enough that a hog meets its bound within a second, large enough for a supervisor. */
export function contractProfile(subject: ContractSubject): SandboxProfile {
  return {
    name: 'contract',
    memoryBytes: 256 * MiB,
    processes: 64,
    cpus: 1,
    tmpBytes: 32 * MiB,
    shmBytes: 16 * MiB,
    cpuSeconds: 600,
    diskBytes: 64 * MiB,
    diskFiles: 2_000,
    ...subject.profile,
  };
}

/** A command's end with all its output as text. */
export interface Finished extends SandboxCommandEnd {
  readonly stdout: string;
  readonly stderr: string;
}

type Command = Partial<Omit<SandboxCommand, 'argv'>>;

/** Runs a command to its end. */
export async function run(sandbox: Sandbox, argv: readonly string[], more: Command = {}): Promise<Finished> {
  const execution = sandbox.run({ argv, timeoutMs: 20_000, maxOutputBytes: MiB, ...more });
  const text = { stdout: '', stderr: '' };
  for await (const { stream, bytes } of execution.output)
    text[stream] += Buffer.from(bytes).toString('latin1');
  return { ...(await execution.end), ...text };
}

/** Runs a bash script to its end. */
export function bash(sandbox: Sandbox, script: string, more: Command = {}): Promise<Finished> {
  return run(sandbox, ['bash', '-c', script], more);
}

let booted = 0;

/** Boots, hands over, destroys; also when the test throws. */
export async function withSandbox<T>(
  subject: ContractSubject,
  driver: SandboxDriver,
  use: (sandbox: Sandbox) => Promise<T>,
  profile: Partial<SandboxProfile> = {},
): Promise<T> {
  booted += 1;
  const id = `sbx_contract_${process.pid}_${booted}`;
  const sandbox = await driver.boot(id, { ...contractProfile(subject), ...profile });
  try {
    return await use(sandbox);
  } finally {
    await sandbox.destroy();
  }
}

/** Waits for a state, never for a time: polls until true, fails loudly at the deadline. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  deadlineMs = 15_000,
): Promise<void> {
  const end = performance.now() + deadlineMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** What a promise settles with, or a failure that says that it did not. */
export async function within<T>(promise: Promise<T>, deadlineMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing within ${deadlineMs} ms`)), deadlineMs);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
