import { z } from 'zod';
import { pausedIntakesSchema } from '@lemniscate/shared/api/intake.ts';
import { serverListSchema } from '@lemniscate/shared/api/server.ts';
import { call, insist } from './calls.ts';
import type { ChaosStage } from './stage.ts';

type Fleet = Pick<ChaosStage, 'apiUrls' | 'token'>;

/** At a drained server's deadline what runs there is moved. Seconds. */
const drainSeconds = 3;

/** What an operator does to the stage. Each act is repeated until the fleet says that it is so. */
export async function setDrained(stage: Fleet, id: string, isDrained: boolean): Promise<void> {
  await untilSo(stage, async (url) => {
    const { servers } = serverListSchema.parse(await read(stage, `${url}/v1/servers`));
    const server = servers.find((each) => each.id === id);
    if (server === undefined) throw new Error(`no dispatcher knows the server ${id}`);
    if (server.drained === isDrained) return true;
    await call(`${url}/v1/servers/${id}/drain`, {
      token: stage.token,
      method: isDrained ? 'PUT' : 'DELETE',
      ...(isDrained ? { body: { deadlineSeconds: drainSeconds } } : {}),
      headers: { 'if-match': `"${server.version}"` },
    });
    return false;
  });
}

/** Pauses the intake of the whole fleet, or lets sessions in again. */
export async function setIntakePaused(stage: Fleet, isPaused: boolean): Promise<void> {
  await untilSo(stage, async (url) => {
    const { paused } = pausedIntakesSchema.parse(await read(stage, `${url}/v1/intake`));
    const pause = paused.find(({ scope }) => scope === 'fleet');
    if ((pause !== undefined) === isPaused) return true;
    await call(`${url}/v1/intake/fleet`, {
      token: stage.token,
      method: isPaused ? 'PUT' : 'DELETE',
      ...(pause === undefined ? { body: { note: 'a storm' } } : {}),
      ...(pause === undefined ? {} : { headers: { 'if-match': `"${pause.version}"` } }),
    });
    return false;
  });
}

const pausedSchema = z.object({ id: z.string() });

/**
 * Ends what people have begun and an answer that came late has left behind: drains, a paused intake, paused sessions. A
 * dispatcher that stood still carries out what it was asked before, and nobody is there who knows of it.
 */
export async function allClear(stage: ChaosStage): Promise<void> {
  await setIntakePaused(stage, false);
  for (const { name, kind } of stage.parts)
    if (kind === 'server' || kind === 'real') await setDrained(stage, name, false);
  const paused = await stage.database.query(
    `SELECT id FROM sessions WHERE state = 'paused' AND reason = 'by_person' OR pause_requested = 'by_person'`,
  );
  for (const row of paused) {
    const { id } = pausedSchema.parse(row);
    await insist(stage, 0, async (url) => {
      const { status } = await call(`${url}/v1/sessions/${id}/resume`, { token: stage.token, body: {} });
      return status < 500 ? status : null;
    });
  }
}

async function read(stage: Fleet, url: string): Promise<unknown> {
  const answer = await call(url, { token: stage.token, method: 'GET' });
  if (answer.status !== 200) throw new TypeError(`${url} answered ${answer.status}`);
  return answer.body;
}

async function untilSo(stage: Fleet, look: (url: string) => Promise<boolean>): Promise<void> {
  const isSo = await insist(stage, 0, async (url) => ((await look(url)) ? true : null));
  if (isSo === null) throw new Error('nobody carried out what the operator asked for');
}
