import { z } from 'zod';

const targets = z.array(z.object({ webSocketDebuggerUrl: z.string() }));
const answer = z.object({ id: z.int().optional(), result: z.unknown() });
const evaluated = z.object({ result: z.object({ value: z.number() }) });

/**
 * Kilobytes that a process really holds on to: its heap and its buffers after a collection. What a heap has taken from
 * the machine and not given back says more of its collector than of its readers.
 */
export async function liveKb(inspectorPort: number): Promise<number> {
  const listed = await fetch(`http://127.0.0.1:${inspectorPort}/json/list`);
  const [target] = targets.parse(await listed.json());
  if (target === undefined) throw new Error('the process cannot be inspected');
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  await new Promise<void>((open, fail) => {
    socket.addEventListener('open', () => open());
    socket.addEventListener('error', () => fail(new Error('the inspector does not answer')));
  });
  let sent = 0;
  const call = (method: string, params: object = {}): Promise<unknown> => {
    sent += 1;
    const id = sent;
    return new Promise((settle) => {
      const hear = ({ data }: MessageEvent): void => {
        const given = answer.parse(JSON.parse(String(data)));
        if (given.id !== id) return;
        socket.removeEventListener('message', hear);
        settle(given.result);
      };
      socket.addEventListener('message', hear);
      socket.send(JSON.stringify({ id, method, params }));
    });
  };
  try {
    // Twice: what the first one finalises, the second one frees.
    for (let times = 0; times < 2; times += 1) await call('HeapProfiler.collectGarbage');
    const expression = '(({ heapUsed, external }) => heapUsed + external)(process.memoryUsage())';
    const { result } = evaluated.parse(await call('Runtime.evaluate', { expression }));
    return result.value / 1_024;
  } finally {
    socket.close();
  }
}
