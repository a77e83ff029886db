import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

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
  /** Never answers. */
  | 'hung';

/** An answer of a protocol. */
export interface ProtocolAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** How one kind of receiver reads a request and answers. */
export interface Protocol {
  /** Ids in a request, in its order; null where the request is not a delivery. */
  ids(path: string, body: string): string[] | null;
  /** @param kept the ids that were new, and whether the request was dropped */
  answer(request: {
    readonly path: string;
    readonly body: string;
    readonly ids: readonly string[];
    readonly dropped: boolean;
    readonly known: ReadonlySet<string>;
  }): ProtocolAnswer;
}

export interface FaultReceiver {
  readonly url: string;
  /** Ids in the order of arrival, doubles and all. */
  received(): string[];
  /** Faults for the deliveries to come, one each. */
  plan(...faults: (Fault | null)[]): void;
  /** Requests above so many bytes are answered with 413. */
  limit(bytes: number): void;
  /** Bodies as they came, for planted markers. */
  bodies(): readonly string[];
  close(): Promise<void>;
}

/** A receiver on loopback that counts what it got and fails on demand. */
export async function startFaultReceiver(protocol: Protocol): Promise<FaultReceiver> {
  const received: string[] = [];
  const bodies: string[] = [];
  const faults: (Fault | null)[] = [];
  let mostBytes = Infinity;

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const path = request.url ?? '';
    const answer = ({ status, body: said }: ProtocolAnswer): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(said));
    };
    const ids = protocol.ids(path, body);
    const fault = ids === null ? null : (faults.shift() ?? null);
    if (fault === 'unavailable') return answer({ status: 503, body: {} });
    if (fault === 'unauthorised') return answer({ status: 401, body: {} });
    if (fault === 'hung') return;
    if (body.length > mostBytes) return answer({ status: 413, body: {} });
    const known = new Set(received);
    const dropped = fault === 'dropped';
    const said = protocol.answer({ path, body, ids: ids ?? [], dropped, known });
    if (said.status < 300 && ids !== null && !dropped) {
      bodies.push(body);
      received.push(...ids);
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
