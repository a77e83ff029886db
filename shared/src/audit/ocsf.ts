import type { JsonValue } from '../json.ts';
import { identityOf } from './outgoing-event.ts';
import type { OutgoingEvent } from './outgoing-event.ts';
import { mappingOf, ocsfClassOf } from './receiver-mapping.ts';

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
      profiles: ['record_integrity'],
    },
    actor: { user: { uid: event.subject, name: identityOf(event) } },
    ...(event.server === null ? {} : { device: { hostname: event.server, type_id: 1 } }),
    record_integrity: {
      chain_uid: event.integrity['chain'] ?? 'checkpoints',
      prev_event: event.integrity['prev'] ?? '',
      fingerprint: {
        algorithm_id: 3,
        algorithm: 'SHA-256',
        value: event.integrity['digest'] ?? event.integrity['root'] ?? '',
      },
    },
    unmapped: {
      ...event.body,
      ...(event.attempt === null ? {} : { attempt: event.attempt }),
      ...(Object.keys(event.people).length === 0 ? {} : { people: event.people }),
      log: event.integrity,
    },
  };
}
