import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fastify } from 'fastify';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import type { AuditDraft } from '@lemniscate/shared/audit/entry.ts';
import { tilePlace } from '@lemniscate/shared/audit/merkle-proof.ts';
import {
  createTreeHasher,
  leafHash,
  verifyConsistency,
  verifyInclusion,
} from '@lemniscate/shared/audit/merkle.ts';
import { consistencyProofSchema, inclusionProofSchema } from '@lemniscate/shared/audit/proof-api.ts';
import { chainsPageSchema, entriesPageSchema, fromStored } from '@lemniscate/shared/audit/stored-entry.ts';
import { createChainVerifier } from '@lemniscate/shared/audit/verify.ts';
import { systemClock } from '@lemniscate/shared/clock.ts';
import { createNewId } from '@lemniscate/shared/id.ts';
import { createAuditLog } from '../adapters/postgres/audit-log.ts';
import { createAuditProofs } from '../adapters/postgres/audit-proofs.ts';
import { createAuditReader } from '../adapters/postgres/audit-reader.ts';
import { createAuditDatabase, noDatabase } from '../testing/audit-database.ts';
import type { AuditDatabase } from '../testing/audit-database.ts';
import { createPeopleMap } from '../adapters/postgres/people-map.ts';
import { createApp } from './app.ts';
import type { App } from './app.ts';
import { registerAuditRoutes } from './audit-routes.ts';

const opening: AuditDraft = {
  type: 'session.opened',
  subject: 'ann',
  body: { policyDigest: 'a'.repeat(64) },
};

let database: AuditDatabase;
let app: App;
if (noDatabase === false) {
  before(async () => {
    database = await createAuditDatabase();
    app = await createApp({
      title: 'test',
      logger: fastify({ logger: false }).log,
      newId: createNewId(),
      bodyLimit: 1024,
      tls: null,
    });
    registerAuditRoutes(app, {
      auditReader: createAuditReader(database.app, createPeopleMap(systemClock)),
      auditProofs: createAuditProofs(database.app),
    });
    const audit = createAuditLog({ clock: systemClock, commitmentKey: Buffer.alloc(32) });
    for (let session = 0; session < 5; session += 1)
      await database.app.transaction((tx) =>
        audit.append(tx, sessionChain(`s_${session}`), [
          opening,
          ...Array.from({ length: 50 }, (_, call): AuditDraft => ({
            type: 'tool.proposed',
            subject: 'srv',
            body: { call: `c${call}`, tool: 'read_file', path: 'p'.repeat(10) },
          })),
        ]),
      );
    const large = Array.from({ length: 100 }, (_, call): AuditDraft => ({
      type: 'tool.decided',
      subject: 'srv',
      body: {
        call: `c${call}`,
        decidedBy: 'automation',
        reasons: Array.from({ length: 15 }, () => 'r'.repeat(4000)),
      },
    }));
    await database.app.transaction((tx) => audit.append(tx, sessionChain('s_4'), large));
  });
  after(async () => {
    await app.close();
    await database.drop();
  });
}

async function get(url: string): Promise<{ status: number; body: unknown; bytes: number }> {
  const answer = await app.inject({ url });
  return { status: answer.statusCode, body: answer.json(), bytes: answer.rawPayload.length };
}

for (const [chain, limit, count] of [
  ['s_0', 7, 51],
  ['s_1', 1000, 51],
  ['s_4', 1000, 151],
] as const)
  test(`pages of ${limit} make up the whole chain of ${chain}`, { skip: noDatabase }, async () => {
    const name = sessionChain(chain);
    const verifier = createChainVerifier(name);
    let after: number | null = 0;
    let head = { seq: 0, digest: '' };
    while (after !== null) {
      const { body, bytes } = await get(
        `/v1/audit/chains/${encodeURIComponent(name)}/entries?after=${after}&limit=${limit}`,
      );
      assert.ok(bytes < 8 * 1024 * 1024, 'a page is bounded in bytes');
      const page = entriesPageSchema.parse(body);
      for (const entry of page.entries) verifier.push(fromStored(entry));
      after = page.nextAfter;
      head = page.head;
    }
    const expected = { head: { seq: head.seq, digest: Buffer.from(head.digest, 'hex') } };
    assert.equal(verifier.finish(expected), null);
    assert.equal(verifier.count(), count);
  });

test('chains are listed by name in pages', { skip: noDatabase }, async () => {
  const names: string[] = [];
  let after: string | null = '';
  while (after !== null) {
    const page = chainsPageSchema.parse(
      (await get(`/v1/audit/chains?limit=2&after=${encodeURIComponent(after)}`)).body,
    );
    names.push(...page.chains.map(({ chain }) => chain));
    after = page.nextAfter;
  }
  assert.deepEqual(
    names,
    [0, 1, 2, 3, 4].map((session) => sessionChain(`s_${session}`)),
  );
});

test(
  'an unknown chain is 404 and a senseless query 400, each with its code',
  { skip: noDatabase },
  async () => {
    const unknown = await get('/v1/audit/chains/session%3Anone/entries');
    assert.equal(unknown.status, 404);
    assert.match(JSON.stringify(unknown.body), /"code":"not_found"/);
    for (const query of ['after=-1', 'after=x', 'limit=0', 'limit=1001', 'after=1e99'])
      assert.equal((await get(`/v1/audit/chains/session%3As_0/entries?${query}`)).status, 400, query);
  },
);

test(
  'proofs of entries and of growth hold against the root; what is not sealed is 404',
  { skip: noDatabase },
  async () => {
    // as the exporter orders and seals
    await database.owner.query(
      `INSERT INTO audit_log (index, chain, seq) SELECT row_number() OVER (ORDER BY id) - 1, chain, seq FROM audit_pending`,
    );
    const rows = await database.owner.query<{ digest: Buffer }>(
      'SELECT digest FROM audit_log JOIN audit_entries USING (chain, seq) ORDER BY index',
    );
    const tiles = new Map<string, { level: number; number: number; hashes: Uint8Array[] }>();
    const roots: Uint8Array[] = [];
    const hasher = createTreeHasher(undefined, (node, hash) => {
      if (node.level % 8 !== 0) return;
      const { level, number } = tilePlace(node);
      const tile = tiles.get(`${level}/${number}`) ?? { level, number, hashes: [] };
      tile.hashes.push(hash);
      tiles.set(`${level}/${number}`, tile);
    });
    for (const { digest } of rows) {
      roots.push(hasher.root());
      hasher.push(leafHash(digest));
    }
    for (const { level, number, hashes } of tiles.values())
      await database.owner.query('INSERT INTO audit_tiles VALUES ($1, $2, $3)', [
        level,
        number,
        Buffer.concat(hashes),
      ]);
    const size = rows.length;
    assert.ok(size > 256);
    const bytes = (path: readonly string[]): Buffer[] => path.map((hex) => Buffer.from(hex, 'hex'));
    for (const seq of [1, 2, 30, 51]) {
      const url = `/v1/audit/proofs/inclusion?chain=session%3As_2&seq=${seq}&size=${size}`;
      const { index, path } = inclusionProofSchema.parse((await get(url)).body);
      const leaf = leafHash(rows[index]?.digest ?? assert.fail());
      assert.ok(verifyInclusion(leaf, index, { size, root: hasher.root() }, bytes(path)));
      assert.ok(!verifyInclusion(leaf, index, { size, root: hasher.root() }, bytes(path.toReversed())));
    }
    for (const from of [1, 100, 256, 300]) {
      const { body } = await get(`/v1/audit/proofs/consistency?from=${from}&to=${size}`);
      const { path } = consistencyProofSchema.parse(body);
      const earlier = { size: from, root: roots[from] ?? assert.fail() };
      assert.ok(verifyConsistency(earlier, { size, root: hasher.root() }, bytes(path)), String(from));
    }
    for (const query of [
      `inclusion?chain=session%3As_2&seq=99&size=${size}`,
      `inclusion?chain=session%3As_2&seq=1&size=${size + 500}`,
      `consistency?from=7&to=${size + 500}`,
    ])
      assert.equal((await get(`/v1/audit/proofs/${query}`)).status, 404, query);
    assert.deepEqual((await get('/v1/audit/checkpoints')).body, {
      checkpoints: [],
      nextAfter: null,
      last: null,
    });
  },
);

test(
  'a chain whose tail was cut in the database still names the head it had',
  { skip: noDatabase },
  async () => {
    await database.owner.query(`ALTER TABLE audit_entries DISABLE TRIGGER append_only`);
    await database.owner.query(`DELETE FROM audit_entries WHERE chain = 'session:s_3' AND seq > 40`);
    await database.owner.query(`ALTER TABLE audit_entries ENABLE ALWAYS TRIGGER append_only`);
    const page = entriesPageSchema.parse((await get('/v1/audit/chains/session%3As_3/entries')).body);
    assert.equal(page.entries.length, 40);
    assert.equal(page.head.seq, 51);
    assert.equal(page.nextAfter, null);
  },
);
