import type { Protocol } from './fault-receiver.ts';

const linesOf = (body: string | null): Record<string, unknown>[] =>
  (body ?? '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
/** An event with this in it is refused for good, where the protocol can say so. */
export const poison = 'POISON';

/** Splunk HEC with acknowledgement, from "About HTTP Event Collector Indexer Acknowledgment" in Splunk's documentation. */
export function splunkProtocol(): Protocol {
  let next = 0;
  /** How often each must be asked for before it is told; Infinity: never. */
  const acks = new Map<number, number>();
  const ask = (id: number): boolean => {
    const left = acks.get(id) ?? Infinity;
    acks.set(id, left - 1);
    return left <= 0;
  };
  return {
    ids: (path, body) =>
      path.startsWith('/services/collector/ack')
        ? null
        : linesOf(body).map(({ fields }) => (fields as { id: string }).id),
    answer: ({ path, body, dropped, acknowledges }) => {
      if (path.startsWith('/services/collector/ack')) {
        const asked = (JSON.parse(body) as { acks: number[] }).acks;
        return {
          status: 200,
          body: { acks: Object.fromEntries(asked.map((id) => [id, ask(id)])) },
        };
      }
      const bad = linesOf(body).findIndex((line) => JSON.stringify(line).includes(poison));
      if (bad !== -1)
        return { status: 400, body: { text: 'Invalid data format', code: 6, 'invalid-event-number': bad } };
      acks.set(next, dropped || acknowledges === 'never' ? Infinity : acknowledges === 'late' ? 3 : 0);
      next += 1;
      return { status: 200, body: { text: 'Success', code: 0, ackId: next - 1 } };
    },
  };
}

/** Elastic `_bulk` with `create`, from Elastic's API reference. */
export const elasticProtocol: Protocol = {
  ids: (_, body) =>
    linesOf(body).flatMap((line) => ('create' in line ? [(line['create'] as { _id: string })._id] : [])),
  answer: ({ body, ids, known }) => {
    const documents = linesOf(body).filter((line) => !('create' in line));
    const items = ids.map((id, place) => {
      if (JSON.stringify(documents[place]).includes(poison))
        return { create: { _id: id, status: 400, error: { type: 'document_parsing_exception' } } };
      return { create: { _id: id, status: known.has(id) ? 409 : 201 } };
    });
    return { status: 200, body: { errors: items.some(({ create }) => create.status > 201), items } };
  },
};

/** An HTTPS receiver of OCSF arrays. */
export const ocsfProtocol: Protocol = {
  ids: (_, body) =>
    (JSON.parse(body ?? '[]') as { metadata: { uid: string } }[]).map(({ metadata }) => metadata.uid),
  answer: ({ body }) => (body.includes(poison) ? { status: 400, body: {} } : { status: 200, body: {} }),
};

/** OTLP/HTTP logs, JSON encoding, from the OpenTelemetry protocol specification. */
export const otlpProtocol: Protocol = {
  ids: (_, body) => {
    interface Sent {
      resourceLogs: {
        scopeLogs: { logRecords: { attributes: { key: string; value: { stringValue: string } }[] }[] }[];
      }[];
    }
    return (JSON.parse(body ?? '{"resourceLogs":[]}') as Sent).resourceLogs
      .flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords))
      .map(
        ({ attributes }) => attributes.find(({ key }) => key === 'log.record.uid')?.value.stringValue ?? '',
      );
  },
  // it says how many and never which
  answer: ({ body }) => {
    const rejected = body.split(poison).length - 1;
    const partialSuccess = { rejectedLogRecords: String(rejected), errorMessage: 'no' };
    return { status: 200, body: rejected === 0 ? {} : { partialSuccess } };
  },
};

/** Microsoft's Logs Ingestion API and its token endpoint, from their public reference. */
export const sentinelProtocol: Protocol = {
  ids: (path, body) =>
    path.includes('/oauth2/') ? null : (JSON.parse(body ?? '[]') as { id: string }[]).map(({ id }) => id),
  answer: ({ path, body }) => {
    if (path.includes('/oauth2/')) return { status: 200, body: { access_token: 't', expires_in: 3_600 } };
    return body.includes(poison) ? { status: 400, body: {} } : { status: 204, body: {} };
  },
};
