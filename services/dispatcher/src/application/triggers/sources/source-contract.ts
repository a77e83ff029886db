import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonValue } from '@lemniscate/shared/json.ts';
import type { RawDelivery, WebhookSource } from './webhook-source.ts';

/** What the contract needs to know of a source. */
export interface SourceCase {
  readonly source: WebhookSource;
  readonly secret: string;
  /** Another one of the same form. */
  readonly otherSecret: string;
  /** A delivery of a person's comment that mentions `@fixer`, signed at the time. */
  comment(secret: string, at: Date): RawDelivery;
  /** Whether a time is signed. */
  readonly signsTime: boolean;
  /** Whether the body is covered by the signature. */
  readonly signsBody: boolean;
  readonly account: string;
}

/** Values that a hostile sender may put anywhere. */
const hostile: readonly JsonValue[] = [null, 0, -1, 1e308, '', 'x', [], {}, [[]], { length: 1e9 }, true];

function* mutated(value: JsonValue): Generator<JsonValue> {
  yield* hostile;
  if (!isDocument(value)) return;
  for (const [name, member] of Object.entries(value))
    for (const other of mutated(member)) yield { ...value, [name]: other };
}

const isDocument = (value: JsonValue): value is Readonly<Record<string, JsonValue>> =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

/** What every source has to hold, whatever system it is. */
export function sourceContract(of: SourceCase): void {
  const { source, secret, otherSecret, comment, signsTime, signsBody, account } = of;
  describe(`webhooks of ${source.name}`, () => {
    const now = new Date('2026-05-01T12:00:00Z');
    const delivery = () => comment(secret, now);
    const parsed = (): JsonValue => JSON.parse(delivery().body.toString()) as JsonValue;

    test('its own signature fits', () => {
      assert.deepEqual(source.verify(delivery(), secret, now), { ok: true });
    });

    test('another secret, no header and a header cut short do not', () => {
      const wrong: RawDelivery[] = [
        comment(otherSecret, now),
        { ...delivery(), headers: {} },
        {
          ...delivery(),
          headers: Object.fromEntries(
            Object.entries(delivery().headers).map(([name, value]) => [name, value?.slice(0, -1)]),
          ),
        },
      ];
      for (const one of wrong) assert.equal(source.verify(one, secret, now).ok, false);
    });

    if (signsBody)
      test('a body that is changed in one place does not', () => {
        const { headers, body } = delivery();
        for (const place of [0, Math.floor(body.length / 2), body.length - 1]) {
          const changed = Buffer.from(body);
          changed[place] = (changed[place] ?? 0) ^ 1;
          assert.equal(source.verify({ headers, body: changed }, secret, now).ok, false);
        }
        const longer = Buffer.concat([body, Buffer.from(' ')]);
        assert.equal(source.verify({ headers, body: longer }, secret, now).ok, false);
      });

    if (signsTime)
      test('one that was signed too long ago, or in the future, is stale', () => {
        for (const away of [-301, 301]) {
          const old = comment(secret, new Date(now.getTime() + away * 1_000));
          const verified = source.verify(old, secret, now);
          assert.ok(!verified.ok && verified.reason === 'stale');
        }
        const near = comment(secret, new Date(now.getTime() - 299_000));
        assert.equal(source.verify(near, secret, now).ok, true);
      });

    test('a comment is read: whose, about what, and what it says', () => {
      const read = source.read(delivery(), parsed());
      assert.ok(read.kind === 'happened');
      const [happening] = read.happenings;
      assert.equal(happening?.account, account);
      assert.match(happening?.comment?.body ?? '', /@fixer/);
      assert.ok((happening?.object?.key ?? '').length > 3);
      assert.notEqual(source.deliveryId(delivery(), parsed()), null);
    });

    test('whatever stands in place of any member, nothing is thrown and nothing of nobody is read', () => {
      let count = 0;
      for (const body of mutated(parsed())) {
        const read = source.read(delivery(), body);
        source.deliveryId(delivery(), body);
        if (read.kind === 'happened')
          for (const happening of read.happenings) assert.notEqual(happening.account, '');
        count += 1;
      }
      assert.ok(count > 50);
    });
  });
}
