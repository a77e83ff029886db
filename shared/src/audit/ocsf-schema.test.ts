import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { extendChain, unopened } from './chain.ts';
import { auditEntryTypes } from './entry.ts';
import { toOcsf } from './ocsf.ts';
import { checkpointEvent, entryEvent } from './outgoing-event.ts';
import type { OutgoingEvent } from './outgoing-event.ts';
import { eventMappings } from './receiver-mapping.ts';

// Every type of entry as OCSF, held against the public schema: no attribute that a class does not have, none missing that
// it requires, each of its type and among its values. `fixtures/ocsf-1.9.0.json` names its source.

interface Attribute {
  readonly type: string;
  readonly array?: boolean;
  readonly required?: boolean;
  readonly enum?: readonly string[];
}
interface Shape {
  readonly attributes: Readonly<Record<string, Attribute>>;
  readonly constraints?: { readonly at_least_one?: readonly string[] };
}
interface Schema {
  readonly classes: Readonly<Record<string, Shape & { readonly category: number }>>;
  readonly objects: Readonly<Record<string, Shape>>;
  readonly types: Readonly<Record<string, { readonly base: string; readonly max?: number }>>;
}
const schema = JSON.parse(
  readFileSync(new URL('fixtures/ocsf-1.9.0.json', import.meta.url), 'utf8'),
) as Schema;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

function faultsOf(value: unknown, shape: Shape, path: string): string[] {
  if (!isRecord(value)) return [`${path} is no object`];
  const faults: string[] = [];
  for (const [name, attribute] of Object.entries(shape.attributes))
    if (attribute.required === true && !(name in value)) faults.push(`${path}.${name} is missing`);
  const oneOf = shape.constraints?.at_least_one ?? [];
  if (oneOf.length > 0 && !oneOf.some((name) => name in value))
    faults.push(`${path} has none of ${oneOf.join(', ')}`);
  for (const [name, member] of Object.entries(value)) {
    const attribute = shape.attributes[name];
    if (attribute === undefined) faults.push(`${path}.${name} is not in the schema`);
    else faults.push(...attributeFaults(member, attribute, `${path}.${name}`));
  }
  return faults;
}

function attributeFaults(value: unknown, attribute: Attribute, path: string): string[] {
  if (attribute.array === true) {
    if (!Array.isArray(value)) return [`${path} is no array`];
    const { array: _array, ...item } = attribute;
    return value.flatMap((member, at) => attributeFaults(member, item, `${path}[${at}]`));
  }
  const isNumber = ['integer_t', 'long_t', 'timestamp_t', 'port_t'].includes(attribute.type);
  if (attribute.enum !== undefined && (typeof value === 'number' || isNumber)) {
    if (!attribute.enum.includes(String(value))) return [`${path} is ${String(value)}`];
  }
  if (isNumber) return Number.isSafeInteger(value) ? [] : [`${path} is no integer`];
  if (attribute.type === 'boolean_t') return typeof value === 'boolean' ? [] : [`${path} is no boolean`];
  if (attribute.type === 'json_t') return [];
  const primitive = schema.types[attribute.type];
  if (primitive !== undefined) {
    if (typeof value !== 'string') return [`${path} is no text`];
    return value.length <= (primitive.max ?? Infinity) ? [] : [`${path} is longer than ${primitive.max}`];
  }
  if (attribute.type === 'object') return isRecord(value) ? [] : [`${path} is no object`];
  const object = schema.objects[attribute.type];
  return object === undefined
    ? [`${path}: the fixture lacks ${attribute.type}`]
    : faultsOf(value, object, path);
}

function ocsfFaults(event: OutgoingEvent): string[] {
  const ocsf = toOcsf(event) as Record<string, unknown>;
  const shape = schema.classes[String(ocsf['class_uid'])];
  if (shape === undefined) return [`no class ${String(ocsf['class_uid'])}`];
  const faults = faultsOf(ocsf, shape, event.type);
  if (ocsf['category_uid'] !== shape.category) faults.push(`${event.type}: category`);
  const activity = ocsf['activity_id'];
  if (ocsf['type_uid'] !== Number(ocsf['class_uid']) * 100 + Number(activity)) faults.push('type_uid');
  return faults;
}

const [entry] = extendChain(
  unopened('session:s'),
  [{ type: 'session.opened', subject: `person:${'a'.repeat(24)}`, body: { policyDigest: 'a'.repeat(64) } }],
  '2026-11-29T15:00:00.123Z',
).entries;
assert.ok(entry !== undefined);
const sample: OutgoingEvent = {
  ...entryEvent({ index: 0, entry, people: new Map([[`person:${'a'.repeat(24)}`, 'ann@example.org']]) }),
  server: 'one',
  attempt: 1,
};
const body = {
  call: 'c1',
  tool: 'read_file',
  path: 'src/index.js',
  host: 'example.org',
  port: 443,
  state: 'done',
  exitCode: 0,
  user: `person:${'b'.repeat(24)}`,
};

test('every type of the catalogue is a valid event of its class', () => {
  const types = Object.keys(eventMappings);
  assert.ok(types.length >= auditEntryTypes.length);
  const faults = types.flatMap((type) => [
    ...ocsfFaults({ ...sample, type, body }),
    // what a body may lack, and a service that acts
    ...ocsfFaults({
      ...sample,
      type,
      body: {},
      server: null,
      attempt: null,
      subject: 'spiffe://x',
      people: {},
    }),
    ...ocsfFaults({ ...sample, type, body: { state: 'failed', verdict: 'disabled', decision: 'rejected' } }),
  ]);
  assert.deepEqual([...new Set(faults)], []);
});

test('a type that is not in the catalogue yet and a checkpoint are valid too', () => {
  const checkpoint = checkpointEvent({
    origin: 'o',
    size: 1,
    root: Buffer.alloc(32),
    number: 1,
    epoch: 0,
    at: sample.at,
    note: 'n',
    frontier: [],
  });
  assert.deepEqual([...ocsfFaults({ ...sample, type: 'of.tomorrow' }), ...ocsfFaults(checkpoint)], []);
});

test('the check itself finds what is wrong', () => {
  const [shape] = [schema.classes['6003'] ?? assert.fail()];
  const right = toOcsf({ ...sample, type: 'model.exchanged', body }) as Record<string, unknown>;
  const { metadata: _metadata, ...without } = right;
  assert.match(faultsOf(without, shape, 'x').join(), /x\.metadata is missing/);
  assert.match(faultsOf({ ...right, severity_id: 17 }, shape, 'x').join(), /severity_id is 17/);
  assert.match(faultsOf({ ...right, invented: 1 }, shape, 'x').join(), /x\.invented is not in the schema/);
  assert.match(faultsOf({ ...right, time: 'now' }, shape, 'x').join(), /x\.time is no integer/);
});
