import { identityOf } from './outgoing-event.ts';
import type { OutgoingEvent } from './outgoing-event.ts';
import { mappingOf } from './receiver-mapping.ts';

const header = (text: string): string =>
  text
    .replaceAll('\\', '\\\\')
    .replaceAll('|', '\\|')
    .replaceAll(/[\r\n]+/g, ' ');
const value = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('=', '\\=').replaceAll('\r', '\\r').replaceAll('\n', '\\n');

/**
 * An event in CEF 0 (ArcSight Common Event Format, revision 25). `externalId` is the dedup id; the body travels as JSON
 * in `msg`, where a newline is written `\n` and never is one.
 */
export function toCef(event: OutgoingEvent): string {
  const { name, severity } = mappingOf(event.type);
  const fields: [string, string | null][] = [
    ['rt', String(Date.parse(event.at))],
    ['externalId', event.id],
    ['suid', event.subject],
    ['suser', identityOf(event)],
    ['dvchost', event.server],
    ['cs1Label', 'digest'],
    ['cs1', event.integrity['digest'] ?? event.integrity['root'] ?? ''],
    ['cs2Label', 'prev'],
    ['cs2', event.integrity['prev'] ?? ''],
    ['cn1Label', 'index'],
    ['cn1', event.integrity['index'] ?? null],
    ['cn2Label', 'attempt'],
    ['cn2', event.attempt === null ? null : String(event.attempt)],
    ['msg', JSON.stringify(event.body)],
  ];
  const extension = fields
    .filter((field): field is [string, string] => field[1] !== null)
    .map(([key, text]) => `${key}=${value(text)}`)
    .join(' ');
  return `CEF:0|Lemniscate|Lemniscate|1|${header(event.type)}|${header(name)}|${severity}|${extension}`;
}
