import type { JsonValue } from '../json.ts';
import { identityOf } from './outgoing-event.ts';
import type { OutgoingEvent } from './outgoing-event.ts';
import { mappingOf, ocsfClassOf } from './receiver-mapping.ts';
import type { EventMapping } from './receiver-mapping.ts';

/** OCSF severity ids by CEF severity: informational, low, medium, high, critical. */
function severityId(severity: number): number {
  if (severity <= 2) return 1;
  if (severity <= 4) return 2;
  if (severity <= 6) return 3;
  return severity <= 8 ? 4 : 5;
}

/** OCSF `status_id`: 1 success, 2 failure, by what the entry says of its end; 0 where it says nothing. */
function statusId({ type, body }: OutgoingEvent): number {
  if (type === 'login.refused' || body['state'] === 'errored' || body['state'] === 'failed') return 2;
  if (type === 'tool.decided' || type === 'approval.decided')
    return body['verdict'] === 'disabled' || body['decision'] === 'rejected' ? 2 : 1;
  return type === 'login.accepted' || body['state'] === 'done' || body['state'] === 'completed' ? 1 : 0;
}

type Frame = (event: OutgoingEvent) => Readonly<Record<string, JsonValue>>;

const textIn = ({ body }: OutgoingEvent, ...names: readonly string[]): string | null => {
  for (const name of names) {
    const value = body[name];
    if (typeof value === 'string' && value !== '') return value;
  }
  return null;
};
const user = (event: OutgoingEvent): JsonValue => ({ uid: event.subject, name: identityOf(event) });
const actor: Frame = (event) => ({ actor: { user: user(event) } });
/** The server of an attempt; what a dispatcher does happens on none. Type 1 is a server, 0 unknown. */
const device: Frame = ({ server }) => ({
  device: server === null ? { type_id: 0 } : { hostname: server, type_id: 1 },
});
const serverDevice: Frame = (event) => (event.server === null ? {} : device(event));
const fleet = { name: 'Lemniscate', vendor_name: 'Lemniscate' };
const endpoint = (event: OutgoingEvent): JsonValue => ({
  svc_name: 'lemniscate',
  name: event.server ?? 'fleet',
});
/** Whom an act on access is about: the named person, else whoever acted. */
const accessed = (event: OutgoingEvent): JsonValue => {
  const named = textIn(event, 'user', 'principal');
  return named === null ? user(event) : { uid: named, name: event.people[named] ?? named };
};
const fileOf = (event: OutgoingEvent): JsonValue => {
  const path = textIn(event, 'path') ?? 'diff';
  return { name: path.split('/').at(-1) || path, path, type_id: 1 };
};

/** What a class requires beside the frame that all have. */
const frames: Readonly<Record<EventMapping['ocsf'], Frame>> = {
  apiActivity: (event) => ({
    ...actor(event),
    ...serverDevice(event),
    api: { operation: event.type },
    src_endpoint: endpoint(event),
  }),
  applicationLifecycle: (event) => ({ ...actor(event), ...serverDevice(event), app: fleet }),
  processActivity: (event) => ({
    ...actor(event),
    ...device(event),
    process: { uid: textIn(event, 'call') ?? event.id, name: textIn(event, 'tool') ?? 'tool' },
  }),
  fileActivity: (event) => ({ ...actor(event), ...device(event), file: fileOf(event) }),
  authentication: (event) => ({
    ...actor(event),
    user: user(event),
    service: { name: 'lemniscate' },
  }),
  authorizeSession: (event) => ({
    ...actor(event),
    ...serverDevice(event),
    user: accessed(event),
    privileges: [textIn(event, 'tool', 'verdict', 'decision') ?? event.type],
  }),
  userAccess: (event) => ({
    ...actor(event),
    user: accessed(event),
    privileges: [textIn(event, 'role') ?? event.type],
  }),
  networkActivity: (event) => ({
    ...actor(event),
    ...serverDevice(event),
    dst_endpoint: { hostname: textIn(event, 'host') ?? 'unknown' },
  }),
  datastoreActivity: (event) => ({
    ...actor(event),
    src_endpoint: endpoint(event),
    database: { name: 'lemniscate', type_id: 99, type: 'Record' },
  }),
  detectionFinding: (event) => ({
    ...serverDevice(event),
    finding_info: { uid: event.id, title: mappingOf(event.type).name },
  }),
};

/** The chain's links, where the profile "record integrity" has them. Algorithm 3 is SHA-256. */
function attestationOf({ id, integrity }: OutgoingEvent): JsonValue {
  return {
    uid: id,
    chain_uid: integrity['chain'] ?? 'checkpoints',
    ...(integrity['prev'] === undefined || integrity['prev'] === '' ? {} : { prev_event: integrity['prev'] }),
    fingerprint: {
      algorithm_id: 3,
      algorithm: 'SHA-256',
      value: integrity['digest'] ?? integrity['root'] ?? '',
    },
  };
}

/**
 * An event in OCSF 1.9. What has no place in its class is under `unmapped`; prompts and answers have none, for the log
 * does not hold them.
 */
export function toOcsf(event: OutgoingEvent): JsonValue {
  const mapping = mappingOf(event.type);
  const class_ = ocsfClassOf(mapping);
  return {
    ...class_,
    activity_id: mapping.activity,
    activity_name: mapping.name,
    type_uid: class_.class_uid * 100 + mapping.activity,
    time: Date.parse(event.at),
    severity_id: severityId(mapping.severity),
    status_id: statusId(event),
    message: mapping.name,
    metadata: {
      version: '1.9.0',
      uid: event.id,
      event_code: event.type,
      product: { name: 'Lemniscate', vendor_name: 'Lemniscate' },
      profiles: ['host', 'record_integrity'],
    },
    ...frames[mapping.ocsf](event),
    attestation_list: [attestationOf(event)],
    unmapped: {
      ...event.body,
      ...(event.attempt === null ? {} : { attempt: event.attempt }),
      ...(Object.keys(event.people).length === 0 ? {} : { people: event.people }),
      log: event.integrity,
    },
  };
}
