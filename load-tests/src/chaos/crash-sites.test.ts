import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { callerOf, isWrite } from '@lemniscate/dispatcher/adapters/postgres/crash-points.ts';
import { sourceFiles } from '@lemniscate/local/gate/source-imports.ts';

// Where a process reaches outside, read from the sources: each place passes a named crash point, or says here why not. Which
// calls of a port have points is said beside them, and the compiler fails for a call in none of those tables (`PointsOf`).

const projectRoot = join(import.meta.dirname, '../../..');
const textOf = (file: string): string => readFileSync(join(projectRoot, file), 'utf8');
const sources = new Map(
  sourceFiles(projectRoot)
    .filter(
      (file) =>
        /^services\/(dispatcher|agent-server)\//.test(file) && !/\/contract\/|crash-points/.test(file),
    )
    .map((file) => [file.replace('services/', '').replace('/src/', '/'), textOf(file)]),
);

/** What speaks to PostgreSQL, to Redis, or over HTTP: whoever names even a type of them may hold a connection. */
const clients = /^(pg|ioredis|bullmq|undici|nodemailer|openid-client|@aws-sdk\/.*|@smithy\/.*)$/;
/** Of Node's own: these begin a connection. */
const connecting = /^(request|get|connect|createConnection|Agent)$/;
const nodeModules = /^node:(http|https|http2|net|tls)$/;
const clause = /(?:^|\n)import (type )?([^;'"]*?)\s*from\s+'([^']+)'/g;

function reaches(text: string): boolean {
  const byImport = [...text.matchAll(clause)].some(([, type, names = '', from = '']) => {
    if (clients.test(from)) return true;
    if (type !== undefined || !nodeModules.test(from)) return false;
    return names.split(/[{},\s]+/).some((name) => connecting.test(name));
  });
  return byImport || /(?<![\w.])fetch\(/.test(text);
}

type Site = { readonly through: string } | { readonly none: string };
const none = (why: string): Site => ({ none: why });
const through = (call: string): Site => ({ through: call });

const fetches = none('reads what a session begins with: nothing is promised yet, and a start begins again');
const thirdParty = none(
  'the storm has no such third party, and what follows from its answer is a commit, with points',
);
const atStart = none('before anything is served: a start begins again');
const inSandbox = none('speaks to a supervisor in a sandbox, which dies with its server');
const ofOthers = none('a part of others, which are in this table');

/** By file: through which wrapped port its calls are made, or why they have no points. */
const sites: Readonly<Record<string, Site>> = {
  'agent-server/adapters/dispatcher-client.ts': through(
    `aroundCalls(point, 'http', client, dispatcherCalls)`,
  ),
  'agent-server/adapters/json-caller.ts': ofOthers,
  'agent-server/adapters/model-caller.ts': ofOthers,
  'agent-server/adapters/upload-object.ts': through(`aroundCalls(point, 'http store', { uploadObject }`),
  'agent-server/adapters/snapshot/download-object.ts': through(`aroundCalls(point, 'disk snapshot'`),
  'agent-server/application/checkpoints/restore-checkpoint.ts': through(`aroundCalls(point, 'disk snapshot'`),
  'agent-server/adapters/object-cache-folder.ts': fetches,
  'agent-server/adapters/working-copy/import-bundle.ts': fetches,
  'agent-server/adapters/working-copy/lfs/pinned-request.ts': fetches,
  'agent-server/adapters/join-fleet.ts': atStart,
  'agent-server/adapters/egress/connect-proxy.ts': none(
    'carries bytes of a sandbox, which dies with its server',
  ),
  'agent-server/adapters/sandbox/wire/wire.ts': inSandbox,
  'dispatcher/adapters/agent-server-client.ts': through('around.servers('),
  'dispatcher/adapters/content-keys/kms.ts': thirdParty,
  'dispatcher/adapters/mcp/remote-servers.ts': thirdParty,
  'dispatcher/adapters/model/provider-agent.ts': through('around.provider('),
  'dispatcher/adapters/model/http-provider.ts': through('around.provider('),
  'dispatcher/adapters/model/registry.ts': ofOthers,
  'dispatcher/adapters/model/vault-keys.ts': thirdParty,
  'dispatcher/adapters/notify/email.ts': through('around.notifiers('),
  'dispatcher/adapters/oidc/issuer.ts': thirdParty,
  'dispatcher/adapters/outgoing/bounded-answer.ts': ofOthers,
  'dispatcher/adapters/outgoing/guarded-fetch.ts': ofOthers,
  'dispatcher/adapters/postgres/database.ts': through('around.database('),
  'dispatcher/adapters/postgres/leadership.ts': none('holds a lock of its connection: nothing is committed'),
  'dispatcher/adapters/postgres/migrations.ts': atStart,
  'dispatcher/adapters/queue/placement-queue.ts': through('around.queue('),
  'dispatcher/adapters/redis/connection.ts': ofOthers,
  'dispatcher/adapters/redis/live-events.ts': through('around.live('),
  'dispatcher/adapters/redis/one-write.ts': ofOthers,
  'dispatcher/adapters/redis/provider-room.ts': through('around.rooms('),
  'dispatcher/adapters/redis/reservation.ts': through('around.reservations('),
  'dispatcher/adapters/redis/server-lines.ts': through('around.lines('),
  'dispatcher/adapters/s3/object-store.ts': through('around.objects('),
};

test('every file that can reach outside is known, and goes through what has points or says why not', () => {
  const starts = ['dispatcher/start-dispatcher.ts', 'agent-server/start-agent-server.ts'].map(
    (file) => sources.get(file) ?? assert.fail(`${file} is gone`),
  );
  const found = [...sources].filter(([, text]) => reaches(text)).map(([file]) => file);
  assert.ok(found.length > 30, `only ${found.length} files were found`);
  assert.deepEqual(
    found.toSorted(),
    Object.keys(sites).toSorted(),
    'has the file its points? Say so in `sites`',
  );
  for (const [file, site] of Object.entries(sites))
    if ('through' in site)
      assert.ok(
        starts.some((text) => text.includes(site.through)),
        `${file}: nobody calls ${site.through}`,
      );
});

/** Commits of these files are named together. */
const unnamed = ['dispatcher/start-dispatcher.ts'];

test('every commit is named by the file that asks for it', () => {
  const asking = [...sources].filter(([, text]) => /\.transaction\(/.test(text)).map(([file]) => file);
  assert.ok(asking.length > 50, `only ${asking.length} files ask for commits`);
  const nameOf = (file: string): string =>
    callerOf(`Error: where\n    at f (file:///x/services/${file.replace('/', '/src/')}:1:1)`);
  assert.deepEqual(
    asking.filter((file) => nameOf(file) === 'start'),
    unnamed,
  );
  const named = asking.filter((file) => !unnamed.includes(file)).map(nameOf);
  assert.equal(new Set(named).size, named.length, 'two files have one name');
});

/** Words of a statement that changes rows, wherever it stands. */
const changes = /\b(INSERT\s+INTO|DELETE\s+FROM|MERGE\s+INTO)\b|\bUPDATE\s+[\w."]+\s+(AS\s+)?(\w+\s+)?SET\b/i;

test('every statement that changes rows is seen as a write where it commits by itself', () => {
  const statements = [...sources].flatMap(([file, text]) =>
    [...text.matchAll(/`[^`]*`|'[^'\n]*'/g)]
      .map(([literal]) => literal.slice(1, -1))
      .filter((literal) => changes.test(literal))
      .map((statement) => ({ file, statement })),
  );
  assert.ok(statements.length > 150, `only ${statements.length} statements were found`);
  assert.deepEqual(
    statements.filter(({ statement }) => !isWrite(statement)),
    [],
  );
  assert.ok(!isWrite('SELECT id FROM sessions FOR UPDATE'));
});
