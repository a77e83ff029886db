import { setTimeout as delay } from 'node:timers/promises';
import type { ChaosStage } from './stage.ts';

/** Longer than any fault lasts. Milliseconds. */
const patienceMs = 180_000;

/** Until it is answered, at one dispatcher after the other. @returns null when nobody did */
export async function insist<Value>(
  stage: Pick<ChaosStage, 'apiUrls'>,
  turn: number,
  act: (url: string) => Promise<Value | null>,
): Promise<Value | null> {
  const until = performance.now() + patienceMs;
  for (let tries = 0; performance.now() < until; tries += 1) {
    const url = stage.apiUrls[(turn + tries) % stage.apiUrls.length] ?? '';
    const done = await act(url).catch(unanswered);
    if (done !== null) return done;
    await delay(Math.min(1_000, 50 * 2 ** tries));
  }
  return null;
}

/** No answer, or half of one. */
function unanswered(error: unknown): null {
  if (error instanceof TypeError || error instanceof SyntaxError) return null;
  if ((error as Error).name === 'TimeoutError') return null;
  throw error;
}

export interface Call {
  readonly token: string;
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly body?: string | object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One request, a POST where nothing else is said, with a deadline of its own. */
export async function call(
  url: string,
  { token, method = 'POST', body, headers }: Call,
): Promise<{ status: number; body: unknown }> {
  const answer = await fetch(url, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    signal: AbortSignal.timeout(8_000),
  });
  const said = await answer.text();
  return { status: answer.status, body: said === '' ? null : (JSON.parse(said) as unknown) };
}
