import Docker from 'dockerode';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';

/** Marks our containers, so that leak checks and recovery find them whatever their names. */
export const labels = { server: 'dev.lemniscate.server', sandbox: 'dev.lemniscate.sandbox' } as const;

/** Engine calls take tens of milliseconds; under load a start took seconds. Past this the engine hangs. */
const engineDeadlineMs = 30_000;

/** Bounds a call to the engine. @throws CodedError `sandbox_start_failed` */
export async function within<T>(what: string, call: Promise<T>, deadlineMs = engineDeadlineMs): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(
        new CodedError(
          'sandbox_start_failed',
          `The container engine did not ${what} within ${deadlineMs} ms.`,
        ),
      );
    }, deadlineMs);
  });
  try {
    return await Promise.race([call, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The HTTP status of an engine's refusal, or null when it is another kind of error. */
export function engineStatus(error: unknown): number | null {
  const status = (error as { statusCode?: unknown }).statusCode;
  return typeof status === 'number' ? status : null;
}

/** What the engine says of itself, as far as we use it. */
export interface EngineInfo {
  readonly memoryLimit: boolean;
  readonly processLimit: boolean;
  readonly cpuLimit: boolean;
  readonly seccomp: boolean;
  readonly runtimes: readonly string[];
}

/** @throws CodedError `sandbox_driver_missing` */
export async function describeEngine(docker: Docker): Promise<EngineInfo> {
  const info = await within('answer', docker.info() as Promise<Record<string, unknown>>, 10_000).catch(
    (error: unknown) => {
      throw new CodedError(
        'sandbox_driver_missing',
        'No container engine answers: start one, add this account to its group, or set DOCKER_HOST to its socket.',
        { driver: 'docker' },
        error,
      );
    },
  );
  const options = info['SecurityOptions'];
  return {
    memoryLimit: info['MemoryLimit'] === true,
    processLimit: info['PidsLimit'] === true,
    cpuLimit: info['CpuCfsQuota'] === true,
    seccomp: Array.isArray(options) && options.some((option) => String(option).includes('seccomp')),
    runtimes: Object.keys(info['Runtimes'] ?? {}),
  };
}

/** The digest of an image. @throws CodedError `sandbox_driver_missing` when the engine does not have it */
export async function requireImage(docker: Docker, image: string): Promise<string> {
  const found = await within('inspect an image', docker.getImage(image).inspect()).catch((error: unknown) => {
    if (engineStatus(error) !== 404) throw error;
    throw new CodedError(
      'sandbox_driver_missing',
      `The container engine has no image ${image}: build it with \`npm run image:build\`, or name another one in the profiles.`,
      { driver: 'docker', image },
    );
  });
  return found.Id;
}

/** How long a container may take to go: one with hundreds of processes under gVisor took half a minute on a busy machine. */
const removalDeadlineMs = 60_000;

/** How long until a removal is asked for again: another one's may have failed and left the container where it was. */
const removalRepeatMs = 5_000;

/** Removes a container by id or name and waits until it is not there. Missing is what was wanted. */
export async function removeContainer(docker: Docker, id: string): Promise<void> {
  const deadline = performance.now() + removalDeadlineMs;
  let askAgainAt = 0;
  let refused: unknown;
  for (;;) {
    if (performance.now() >= askAgainAt) {
      refused = await askToRemove(docker, id);
      askAgainAt = performance.now() + removalRepeatMs;
    }
    if (!(await isThere(docker, id))) return;
    if (performance.now() > deadline) throw leaked(id, refused);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Resolves with the engine's refusal, if any: a gVisor sandbox that is slow to exit made it answer 500 for a while. */
async function askToRemove(docker: Docker, id: string): Promise<unknown> {
  try {
    await within('remove a container', docker.getContainer(id).remove({ force: true, v: true }));
    return undefined;
  } catch (error) {
    return error;
  }
}

function leaked(id: string, cause?: unknown): CodedError {
  return new CodedError(
    'sandbox_leaked',
    `The engine did not remove container ${id}.`,
    { container: id },
    cause,
  );
}

async function isThere(docker: Docker, id: string): Promise<boolean> {
  return within('inspect a container', docker.getContainer(id).inspect()).then(
    () => true,
    (error: unknown) => {
      if (engineStatus(error) === 404) return false;
      throw error;
    },
  );
}
