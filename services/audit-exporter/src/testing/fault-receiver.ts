import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';

const slowMs = 250;

/** What a receiver does with a request instead of its duty. */
export type Fault =
  /** 503, nothing kept. */
  | 'unavailable'
  /** 401, nothing kept. */
  | 'unauthorised'
  /** Keeps everything and cuts the connection before it answers: what comes again is a double. */
  | 'reset'
  /** Answers well and keeps nothing; only a protocol with acknowledgements notices. */
  | 'dropped'
  /** Keeps everything and never acknowledges it; without acknowledgements the same as no fault. */
  | 'unacknowledged'
  /** Keeps everything and acknowledges it late. */
  | 'late'
  /** Cuts the connection in the middle of what is sent, and keeps nothing. */
  | 'cut'
  /** Takes its time, then does its duty. */
  | 'slow'
  /** Never answers. */
  | 'hung';

/** An answer of a protocol. */
export interface ProtocolAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** How one kind of receiver reads a request and answers. */
export interface Protocol {
  /** Ids in a request, in its order; null where the request is not a delivery. Without a body: whether it is one. */
  ids(path: string, body: string | null): string[] | null;
  /** @param kept the ids that were new, and whether the request was dropped */
  answer(request: {
    readonly path: string;
    readonly body: string;
    readonly ids: readonly string[];
    readonly dropped: boolean;
    /** How it acknowledges, where the protocol does. */
    readonly acknowledges: 'at_once' | 'late' | 'never';
    readonly known: ReadonlySet<string>;
  }): ProtocolAnswer;
}

export interface FaultReceiver {
  readonly url: string;
  /** Ids in the order of arrival, doubles and all. */
  received(): string[];
  /** Faults for the deliveries to come, one each. */
  plan(...faults: (Fault | null)[]): void;
  /** Faults for all deliveries behind the planned ones. */
  disturb(next: () => Fault | null): void;
  /** How often each fault happened. */
  faults(): Readonly<Record<string, number>>;
  /** Requests above so many bytes are answered with 413. */
  limit(bytes: number): void;
  /** Bodies as they came, for planted markers. */
  bodies(): readonly string[];
  close(): Promise<void>;
}

/** A receiver on loopback that counts what it got and fails on demand. */
export async function startFaultReceiver(
  protocol: Protocol,
  { keepBodies = true }: { readonly keepBodies?: boolean } = {},
): Promise<FaultReceiver> {
  const received: string[] = [];
  const known = new Set<string>();
  const counts: Record<string, number> = {};
  let disturb: () => Fault | null = () => null;
  const bodies: string[] = [];
  const faults: (Fault | null)[] = [];
  let mostBytes = Infinity;

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? '';
    const isDelivery = protocol.ids(path, null) !== null;
    const fault = isDelivery ? (faults.shift() ?? disturb()) : null;
    if (fault !== null) counts[fault] = (counts[fault] ?? 0) + 1;
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) {
      if (fault === 'cut') return void request.socket.destroy();
      chunks.push(chunk);
    }
    const body = Buffer.concat(chunks).toString();
    const answer = ({ status, body: said }: ProtocolAnswer): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(said));
    };
    const ids = protocol.ids(path, body);
    if (fault === 'slow') await setTimeout(slowMs);
    if (fault === 'unavailable') return answer({ status: 503, body: {} });
    if (fault === 'unauthorised') return answer({ status: 401, body: {} });
    if (fault === 'hung') return;
    if (body.length > mostBytes) return answer({ status: 413, body: {} });
    const dropped = fault === 'dropped';
    const acknowledges = fault === 'late' ? 'late' : fault === 'unacknowledged' ? 'never' : 'at_once';
    const said = protocol.answer({ path, body, ids: ids ?? [], dropped, acknowledges, known });
    if (said.status < 300 && ids !== null && !dropped) {
      if (keepBodies) bodies.push(body);
      for (const id of ids) {
        received.push(id);
        known.add(id);
      }
    }
    if (fault === 'reset') request.socket.destroy();
    else answer(said);
  };
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: () => [...received],
    plan: (...more) => void faults.push(...more),
    disturb: (next) => {
      disturb = next;
    },
    faults: () => ({ ...counts }),
    limit: (bytes) => {
      mostBytes = bytes;
    },
    bodies: () => bodies,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
