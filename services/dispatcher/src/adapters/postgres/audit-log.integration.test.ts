import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fleetChain, reviewChain, sessionChain } from '@lemniscate/shared/audit/entry.ts';
import type { AuditDraft, ChainedEntry } from '@lemniscate/shared/audit/entry.ts';
import { createChainVerifier } from '@lemniscate/shared/audit/verify.ts';
import type { ChainFault } from '@lemniscate/shared/audit/verify.ts';
import { systemClock } from '@lemniscate/shared/clock.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { createAuditDatabase, noDatabase } from '../../testing/audit-database.ts';
import type { AuditDatabase } from '../../testing/audit-database.ts';
import { createAuditLog, readCommitmentKey } from './audit-log.ts';
import type { AuditLog } from '../../application/ports/audit-log.ts';

const opening: AuditDraft = {
  type: 'session.opened',
  subject: 'ann@example.org',
  body: { policyDigest: 'a'.repeat(64), project: 'local' },
};
const draft = (number: number): AuditDraft => ({
  type: 'tool.executed',
  subject: 'spiffe://lemniscate/agent-server/one',
  attempt: 1,
  server: 'one',
  body: { call: `call-${number}`, state: 'done', exitCode: 0, durationMs: 12.5 },
});
const closing: AuditDraft = { type: 'chain.closed', subject: 'spiffe://lemniscate/dispatcher/one', body: {} };

let database: AuditDatabase;
let audit: AuditLog;
if (noDatabase === false) {
  before(async () => {
    database = await createAuditDatabase(40);
    audit = createAuditLog({ clock: systemClock, commitmentKey: await readCommitmentKey(database.app) });
  });
  after(() => database.drop());
}

const append = (chain: string, ...drafts: AuditDraft[]): Promise<void> =>
  database.app.transaction((tx) => audit.append(tx, chain, drafts));

async function verified(chain: string): Promise<{ fault: ChainFault | null; count: number }> {
  const rows = await database.owner.query<Omit<ChainedEntry, 'seq' | 'at'> & { seq: string; at: Date }>(
    'SELECT * FROM audit_entries WHERE chain = $1 ORDER BY seq',
    [chain],
  );
  const verifier = createChainVerifier(chain);
  for (const row of rows) verifier.push({ ...row, seq: Number(row.seq), at: row.at.toISOString() });
  return { fault: verifier.finish(), count: verifier.count() };
}

test('a session’s chain opens, grows and closes, and is whole', { skip: noDatabase }, async () => {
  const chain = sessionChain('s_whole');
  await append(chain, opening, { ...draft(0), type: 'session.queued', body: {} });
  await append(chain, draft(1), draft(2));
  await append(chain, closing);
  assert.deepEqual(await verified(chain), { fault: null, count: 5 });
  const head = await audit.head(database.app, chain);
  assert.equal(head?.seq, 5);
  assert.equal(head?.closed, true);
});

test(
  'a chain takes nothing before its opening, no second opening, nothing after its close',
  { skip: noDatabase },
  async () => {
    const chain = sessionChain('s_rules');
    const broken = (error: unknown): boolean => isCodedError(error, 'audit_chain_broken');
    await assert.rejects(append(chain, draft(1)), broken);
    await append(chain, opening);
    await assert.rejects(append(chain, opening), broken);
    await append(chain, closing);
    await assert.rejects(append(chain, draft(2)), broken);
    assert.deepEqual(await verified(chain), { fault: null, count: 2 });
  },
);

test('several chains grow in one statement, each by its own rules', { skip: noDatabase }, async () => {
  const chains = ['s_each_c', 's_each_a', 's_each_b'].map(sessionChain);
  const each = (...drafts: AuditDraft[]): Promise<void> =>
    database.app.transaction((tx) =>
      audit.appendEach(
        tx,
        chains.map((chain) => ({ chain, drafts })),
      ),
    );
  await each(opening, draft(1));
  await each(draft(2), draft(3));
  for (const chain of chains) assert.deepEqual(await verified(chain), { fault: null, count: 4 });
  // One of them has moved on beside, through another process' eyes.
  const other = createAuditLog({
    clock: systemClock,
    commitmentKey: await readCommitmentKey(database.app),
  });
  await database.app.transaction((tx) => other.append(tx, chains[1] ?? '', [draft(4)]));
  await each(draft(5));
  assert.deepEqual(await verified(chains[1] ?? ''), { fault: null, count: 6 });
  await append(chains[2] ?? '', closing);
  await assert.rejects(each(draft(6)), (error: unknown) => isCodedError(error, 'audit_chain_broken'));
  assert.deepEqual(await verified(chains[0] ?? ''), { fault: null, count: 5 });
  // The entries travel with the commit, which nothing survives that stands against one of them.
  const fresh = sessionChain('s_each_fresh');
  await assert.rejects(
    database.app.transaction((tx) =>
      audit.appendEach(
        tx,
        [fresh, chains[0] ?? ''].map((chain) => ({ chain, drafts: [opening] })),
      ),
    ),
    (error: unknown) => error instanceof Error && 'code' in error && error.code === '23505',
  );
  assert.equal(await audit.head(database.app, fresh), null);
  assert.deepEqual(await verified(chains[0] ?? ''), { fault: null, count: 5 });
});

test(
  'the database refuses entries of several chains of which one is not linked',
  { skip: noDatabase },
  async () => {
    const chains = ['s_forged_a', 's_forged_b'].map(sessionChain);
    for (const chain of chains) await append(chain, opening);
    const forge = (prevOfSecond: string): Promise<unknown> =>
      database.app.transaction((tx) =>
        tx.query(
          `INSERT INTO audit_entries (chain, seq, prev, digest, body, type, at)
         SELECT chain, 2, CASE WHEN chain = $1 THEN head_digest ELSE ${prevOfSecond} END, sha256(chain::bytea), 'x', 'forged', now()
         FROM audit_chains WHERE chain = ANY ($2)`,
          [chains[0], chains],
        ),
      );
    await assert.rejects(forge(`sha256('wrong')`), /does not follow the head of its chain/);
    // The check can pass: linked, the same insert goes in.
    await forge('head_digest');
  },
);

test('what is rolled back leaves no entry, no head and nothing to order', { skip: noDatabase }, async () => {
  const chain = sessionChain('s_rolled_back');
  const work = database.app.transaction(async (tx) => {
    await audit.append(tx, chain, [opening, draft(1)]);
    throw new Error('the act failed');
  });
  await assert.rejects(work, /the act failed/);
  assert.equal(await audit.head(database.app, chain), null);
  assert.deepEqual(await database.owner.query('SELECT FROM audit_pending WHERE chain = $1', [chain]), []);
});

test(
  'review and fleet chains open by themselves, also for 20 first writers at once',
  { skip: noDatabase },
  async () => {
    const decided: AuditDraft = { type: 'diff.decided', subject: 'ann', body: { decision: 'accepted' } };
    await Promise.all(Array.from({ length: 20 }, () => append(reviewChain('local'), decided)));
    assert.deepEqual(await verified(reviewChain('local')), { fault: null, count: 21 });
    await append(fleetChain, { type: 'server.joined', subject: 'ann', body: {} });
    assert.deepEqual(await verified(fleetChain), { fault: null, count: 2 });
  },
);

test(
  '200 writers on one chain and 200 on chains of their own leave every chain whole',
  { skip: noDatabase },
  async () => {
    const shared = sessionChain('s_shared');
    await append(shared, opening);
    const own = Array.from({ length: 200 }, (_, number) => sessionChain(`s_own_${number}`));
    await Promise.all([
      ...own.map((_, number) => append(shared, draft(number))),
      ...own.map(async (chain, number) => {
        await append(chain, opening);
        await append(chain, draft(number), draft(number + 1));
      }),
    ]);
    assert.deepEqual(await verified(shared), { fault: null, count: 201 });
    for (const chain of own) assert.deepEqual(await verified(chain), { fault: null, count: 3 });
  },
);

test(
  'poison text is stored harmless, and content and misfits are refused loudly',
  { skip: noDatabase },
  async () => {
    const chain = sessionChain('s_poison');
    await append(chain, opening, {
      ...draft(1),
      subject: 'a\u0000b\ud800',
      body: { call: '\ud800\u0000', state: 'done' },
    });
    assert.deepEqual(await verified(chain), { fault: null, count: 2 });
    for (const body of [{ call: 'x' }, { call: 'x', state: 'done', stdout: 'secret' }])
      await assert.rejects(append(chain, { ...draft(1), body }), (error) => isCodedError(error, 'internal'));
  },
);

test(
  'the application role may add and read, and neither change nor delete nor move a head',
  { skip: noDatabase },
  async () => {
    await append(sessionChain('s_rights'), opening, draft(1));
    const refused = [
      `UPDATE audit_entries SET body = ''`,
      'DELETE FROM audit_entries',
      'TRUNCATE audit_entries',
      `UPDATE audit_chains SET head_seq = 99`,
      `UPDATE audit_chains SET closed = true`,
      `UPDATE audit_chains SET opened_at = now()`,
      'DELETE FROM audit_chains',
      'DELETE FROM audit_pending',
      `INSERT INTO audit_log (index, chain, seq) VALUES (99, 'x', 1)`,
      'DELETE FROM audit_log',
      `UPDATE audit_sinks SET next_index = 0`,
      'UPDATE audit_keys SET key = key',
      'ALTER TABLE audit_entries DISABLE TRIGGER ALL',
      'DROP TABLE audit_entries',
    ];
    for (const statement of refused)
      await assert.rejects(database.app.query(statement), { code: '42501' }, statement);
  },
);

test('even the owner cannot change or delete while the triggers stand', { skip: noDatabase }, async () => {
  const statements = [
    `UPDATE audit_entries SET body = ''`,
    'DELETE FROM audit_entries',
    'TRUNCATE audit_entries',
    'UPDATE audit_log SET seq = 1',
    'DELETE FROM audit_log',
    'TRUNCATE audit_log',
    'DELETE FROM audit_chains',
    `UPDATE audit_chains SET head_seq = head_seq - 1`,
  ];
  for (const statement of statements) {
    await assert.rejects(database.owner.query(statement), { code: '42501' }, statement);
    const replica = `SET session_replication_role = replica; ${statement}`;
    await assert.rejects(database.owner.query(replica), { code: '42501' }, replica);
  }
});

test(
  'an insert that skips, forks or links wrongly is refused by the database itself',
  { skip: noDatabase },
  async () => {
    const chain = sessionChain('s_links');
    await append(chain, opening, draft(1));
    const head = await database.app.query<{ prev: Buffer }>(
      'SELECT head_digest AS prev FROM audit_chains WHERE chain = $1',
      [chain],
    );
    const prev = head[0]?.prev;
    const add = (seq: number, before: Uint8Array | undefined): Promise<unknown> =>
      database.app.query(
        `INSERT INTO audit_entries VALUES ($1, $2, $3, sha256($3), '{}', 'tool.executed', now())`,
        [chain, seq, before],
      );
    await assert.rejects(add(2, prev), { code: '23505' });
    await assert.rejects(add(4, prev), { code: '23000' });
    await assert.rejects(add(3, Buffer.alloc(32)), { code: '23000' });
    await add(3, prev);
  },
);

test('a byte flipped in a row is found and named', { skip: noDatabase }, async () => {
  const chain = sessionChain('s_flipped');
  await append(chain, opening, draft(1), draft(2), draft(3), closing);
  assert.equal((await verified(chain)).fault, null);
  await database.owner.query('ALTER TABLE audit_entries DISABLE TRIGGER append_only');
  await database.owner.query(
    'UPDATE audit_entries SET body = set_byte(body, 40, get_byte(body, 40) # 1) WHERE chain = $1 AND seq = 3',
    [chain],
  );
  await database.owner.query('ALTER TABLE audit_entries ENABLE ALWAYS TRIGGER append_only');
  const { fault } = await verified(chain);
  assert.equal(fault?.seq, 3);
  assert.equal(fault.fault, 'wrong_digest');
});

test(
  'a head that was seen is a guess: another process, a rollback and a stale one do no harm',
  { skip: noDatabase },
  async () => {
    const chain = sessionChain('s_seen');
    const other = createAuditLog({ clock: systemClock, commitmentKey: Buffer.alloc(32) });
    const byOther = (...drafts: AuditDraft[]): Promise<void> =>
      database.app.transaction((tx) => other.append(tx, chain, drafts));
    await append(chain, opening, draft(1));
    await append(chain, draft(2));
    await byOther(draft(3), draft(4));
    // stale here: the chain has grown by another hand
    await append(chain, draft(5));
    await assert.rejects(
      database.app.transaction(async (tx) => {
        await audit.append(tx, chain, [draft(6), draft(7)]);
        throw new Error('rolled back');
      }),
      /rolled back/,
    );
    await append(chain, draft(8));
    await Promise.all([
      ...[10, 11, 12, 13].map((call) => append(chain, draft(call))),
      ...[20, 21, 22, 23].map((call) => byOther(draft(call))),
    ]);
    await byOther(closing);
    await assert.rejects(append(chain, draft(30)), (error) => isCodedError(error, 'audit_chain_broken'));
    assert.deepEqual(await verified(chain), { fault: null, count: 16 });
  },
);

test(
  'two processes that take turns on a chain guess its end wrongly and leave it whole',
  { skip: noDatabase },
  async () => {
    const other = createAuditLog({
      clock: systemClock,
      commitmentKey: await readCommitmentKey(database.app),
    });
    const chain = sessionChain('s_turns');
    await append(chain, opening);
    for (let turn = 0; turn < 6; turn += 1)
      await database.app.transaction((tx) =>
        (turn % 2 === 0 ? other : audit).append(tx, chain, [draft(turn), draft(turn + 1)]),
      );
    assert.deepEqual(await verified(chain), { fault: null, count: 13 });
  },
);

test(
  'the append function writes nothing behind another end than the chain’s, nor what does not add up',
  { skip: noDatabase },
  async () => {
    const chain = sessionChain('s_function');
    await append(chain, opening, draft(1));
    const [row] = await database.app.query<{ digest: Buffer }>(
      'SELECT head_digest AS digest FROM audit_chains WHERE chain = $1',
      [chain],
    );
    const call = (
      seq: number,
      digest: Buffer | undefined,
      digests: Buffer,
    ): Promise<{ appended: boolean }[]> =>
      database.app.query(
        `SELECT audit_append($1, $2, $3, $4, '{}', '{1}', '{2}', '{tool.executed}', now()) AS appended`,
        [chain, seq, digest, digests],
      );
    const one = Buffer.alloc(32, 1);
    assert.deepEqual(await call(1, row?.digest, one), [{ appended: false }]);
    assert.deepEqual(await call(2, Buffer.alloc(32), one), [{ appended: false }]);
    await assert.rejects(call(2, row?.digest, Buffer.alloc(64)), { code: '23000' });
    await assert.rejects(call(0, Buffer.alloc(0), one), { code: '23505' });
    assert.deepEqual(await verified(chain), { fault: null, count: 2 });
    // shown able to write: what was refused above was refused for its end and its lengths
    assert.deepEqual(await call(2, row?.digest, one), [{ appended: true }]);
    const [member] = await database.app.query<{ member: boolean }>(
      `SELECT pg_has_role('lemniscate_app', 'lemniscate_appender', 'MEMBER') AS member`,
    );
    assert.equal(member?.member, false);
  },
);

test(
  'the function for many chains writes all or nothing, each behind its own end',
  { skip: noDatabase },
  async () => {
    const [one = '', two = '', fresh = ''] = ['s_many_a', 's_many_b', 's_many_new'].map(sessionChain);
    for (const chain of [one, two]) await append(chain, opening);
    const digestOf = async (chain: string): Promise<Buffer> => {
      const [row] = await database.app.query<{ digest: Buffer }>(
        'SELECT head_digest AS digest FROM audit_chains WHERE chain = $1',
        [chain],
      );
      return row?.digest ?? Buffer.alloc(32);
    };
    const [headOfOne, headOfTwo] = [await digestOf(one), await digestOf(two)];
    const call = (
      chains: string[],
      seqs: number[],
      heads: Buffer,
      digests = Buffer.alloc(32 * chains.length, 1),
    ) =>
      database.app.query(`SELECT audit_append_each($1, $2, $3, $4, $5, $6, $7, $8, now())`, [
        chains,
        seqs,
        heads,
        digests,
        Buffer.from('{}'.repeat(chains.length)),
        chains.map((_, index) => 1 + 2 * index),
        chains.map(() => 2),
        chains.map(() => 'tool.executed'),
      ]);
    const both = Buffer.concat([headOfOne, headOfTwo]);
    const zeros = Buffer.alloc(32);
    const broken = { code: '23000' };
    await assert.rejects(call([one, two], [1, 2], both), broken, 'another place');
    await assert.rejects(
      call([one, two], [1, 1], Buffer.concat([headOfOne, headOfOne])),
      broken,
      'another link',
    );
    await assert.rejects(
      call([one, fresh], [1, 1], Buffer.concat([headOfOne, zeros])),
      broken,
      'no such chain',
    );
    await assert.rejects(
      call([one, one], [1, 1], Buffer.concat([headOfOne, headOfOne])),
      broken,
      'twice the same',
    );
    await assert.rejects(call([one, two], [1, 1], both, Buffer.alloc(32)), broken, 'a digest is missing');
    await assert.rejects(
      call([one, two], [1, 0], Buffer.concat([headOfOne, zeros])),
      { code: '23505' },
      'open already',
    );
    for (const chain of [one, two]) assert.deepEqual(await verified(chain), { fault: null, count: 1 });
    // Shown able to write: what was refused was refused for its end.
    await call([one, two, fresh], [1, 1, 0], Buffer.concat([both, zeros]));
    const heads = await database.app.query<{ seq: number }>(
      'SELECT head_seq::int AS seq FROM audit_chains WHERE chain = ANY ($1) ORDER BY chain',
      [[one, two, fresh]],
    );
    assert.deepEqual(
      heads.map(({ seq }) => seq),
      [2, 2, 1],
    );
  },
);

test(
  'a function that a restore gave another owner appends as well, by way of the trigger',
  { skip: noDatabase },
  async () => {
    for (const name of ['audit_append', 'audit_append_each'])
      await database.owner.query(`ALTER FUNCTION ${name} OWNER TO current_user`);
    try {
      const chain = sessionChain('s_restored');
      await append(chain, opening);
      await append(chain, draft(1), draft(2));
      await append(chain, draft(3));
      await assert.rejects(append(chain, opening), (error) => isCodedError(error, 'audit_chain_broken'));
      await append(chain, closing);
      assert.deepEqual(await verified(chain), { fault: null, count: 5 });
      const pending = await database.owner.query<{ seq: string }>(
        'SELECT seq FROM audit_pending WHERE chain = $1 ORDER BY id',
        [chain],
      );
      assert.deepEqual(
        pending.map(({ seq }) => Number(seq)),
        [1, 2, 3, 4, 5],
      );
      const many = ['s_restored_a', 's_restored_b'].map(sessionChain);
      for (const given of [opening, draft(1)])
        await database.app.transaction((tx) =>
          audit.appendEach(
            tx,
            many.map((each) => ({ chain: each, drafts: [given] })),
          ),
        );
      for (const each of many) assert.deepEqual(await verified(each), { fault: null, count: 2 });
    } finally {
      for (const name of ['audit_append', 'audit_append_each'])
        await database.owner.query(`ALTER FUNCTION ${name} OWNER TO lemniscate_appender`);
    }
  },
);
