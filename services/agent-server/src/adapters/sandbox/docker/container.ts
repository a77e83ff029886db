import type { Duplex, Readable, Writable } from 'node:stream';
import type Docker from 'dockerode';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { createTail } from '../tail.ts';
import { createStdoutReader } from './attached-stream.ts';
import { containerOptions } from './container-options.ts';
import type { ContainerWish } from './container-options.ts';
import { engineStatus, removeContainer, within } from './engine.ts';

/** A started container, attached to before it ran so that not a byte is missed. */
export interface StartedContainer {
  readonly containerId: string;
  /** Pid of its main process in the engine's view; 0 where the engine does not say. */
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  stderr(): string;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
}

/** @throws CodedError `sandbox_start_failed`, with nothing left behind */
export async function startContainer(docker: Docker, wish: ContainerWish): Promise<StartedContainer> {
  const container = await within('create a container', docker.createContainer(containerOptions(wish))).catch(
    (error: unknown) => {
      throw startFailed(wish, error);
    },
  );
  try {
    const attached = (await within(
      'attach to a container',
      container.attach({ stream: true, hijack: true, stdin: true, stdout: true, stderr: true }),
    )) as Duplex;
    const tail = createTail(4096);
    const stdout = createStdoutReader((chunk) => tail.add(chunk));
    attached.on('error', (error) => stdout.destroy(error));
    attached.on('close', () => stdout.end());
    attached.pipe(stdout);
    const exited = (container.wait({ condition: 'next-exit' }) as Promise<{ StatusCode: number }>).then(
      ({ StatusCode }) => ({ code: StatusCode, signal: null }),
      () => ({ code: null, signal: null }), // the container or the engine is gone: so is the sandbox
    );
    await within('start a container', container.start());
    const { State } = await within('inspect a container', container.inspect());
    return { containerId: container.id, pid: State.Pid, stdin: attached, stdout, stderr: tail.text, exited };
  } catch (error) {
    await removeContainer(docker, container.id);
    throw startFailed(wish, error);
  }
}

function startFailed(wish: ContainerWish, error: unknown): CodedError {
  const reason = error instanceof Error ? error.message : String(error);
  const hint =
    engineStatus(error) === 404
      ? ' Build the image with `npm run image:build`, or name another one in the profile.'
      : '';
  return new CodedError(
    'sandbox_start_failed',
    `Sandbox ${wish.id} did not start: ${reason}.${hint}`,
    {},
    error,
  );
}
