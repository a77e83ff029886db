import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createObjectCache } from '@lemniscate/agent-server/adapters/object-cache-folder.ts';
import { gather } from '@lemniscate/agent-server/application/sessions/lay-attachments.ts';
import type { SyncContext } from '@lemniscate/agent-server/application/sessions/lay-attachments.ts';
import { pushCollected } from '@lemniscate/agent-server/application/sessions/push-collected.ts';
import type { AttemptClaim } from '@lemniscate/dispatcher/application/events/live-attempt.ts';
import { objectKey } from '@lemniscate/dispatcher/application/ports/object-store.ts';
import { createTestRecord } from '@lemniscate/dispatcher/testing/traffic/record.ts';
import type { TestRecord } from '@lemniscate/dispatcher/testing/traffic/record.ts';
import { openTestSession } from '@lemniscate/dispatcher/testing/traffic/session.ts';
import { cephStore, embeddedStore, noCeph } from '@lemniscate/dispatcher/testing/traffic/stores.ts';
import type { FolderFile } from '@lemniscate/shared/agents/folder.ts';
import { remember, syncContext } from './sync-context.ts';

// What the benchmark measures, here for what is moved and what is not: a memory of many small files and one real store.

const fileCount = 120;
const signal = new AbortController().signal;

for (const { name, storeOf, skip } of [
  { name: 'the embedded store', storeOf: embeddedStore, skip: false },
  { name: 'a Ceph gateway', storeOf: cephStore, skip: noCeph },
])
  describe(`a memory of ${fileCount} files in ${name}`, { skip }, () => {
    let record: TestRecord;
    let folder: string;
    let claim: AttemptClaim;
    const files: FolderFile[] = [];
    const contents = new Map<string, Buffer>();
    before(async () => {
      record = await createTestRecord({ store: storeOf() });
      folder = await mkdtemp(join(tmpdir(), 'lemniscate-sync-'));
      claim = await openTestSession(record);
      const writer = cacheAt('writer');
      for (let number = 0; number < fileCount; number += 1) {
        const content = randomBytes(500 + number);
        const { sha256 } = await writer.keep(content);
        contents.set(sha256, content);
        files.push({ path: `notes/${number}.md`, sha256, bytes: content.length });
      }
    });
    after(async () => {
      await record.close();
      await rm(folder, { recursive: true, force: true });
    });

    const cacheAt = (place: string) => createObjectCache(join(folder, place), 1024 ** 3);
    /** A side of a session that counts what crosses the line. */
    const counted = (place: string, laid: readonly FolderFile[]) => {
      const moved = { announced: 0, sent: 0, addresses: 0, pulled: 0 };
      const plain = syncContext(record, claim, cacheAt(place), laid);
      const { deps } = plain;
      const context: SyncContext = {
        ...plain,
        deps: {
          dispatcher: {
            ...deps.dispatcher,
            requestUpload: (...args) => {
              moved.announced += 1;
              return deps.dispatcher.requestUpload(...args);
            },
            objectAddresses: (...args) => {
              moved.addresses += 1;
              return deps.dispatcher.objectAddresses(...args);
            },
          },
          uploadObject: (...args) => {
            moved.sent += 1;
            return deps.uploadObject(...args);
          },
          objectCache: {
            ...deps.objectCache,
            pull: (...args) => {
              moved.pulled += 1;
              return deps.objectCache.pull(...args);
            },
          },
        },
      };
      return { context, moved };
    };
    const assertWhole = (got: ReadonlyMap<string, Buffer>): void => {
      assert.equal(got.size, fileCount);
      for (const [sha256, content] of contents) assert.ok(got.get(sha256)?.equals(content) === true);
    };

    test('a first push sends each file, a repeat none', async () => {
      const first = counted('writer', []);
      await pushCollected(first.context, { memory: files }, signal);
      assert.deepEqual([first.moved.announced, first.moved.sent], [fileCount, fileCount]);
      const again = counted('writer', []);
      await pushCollected(again.context, { memory: files }, signal);
      assert.deepEqual([again.moved.announced, again.moved.sent], [fileCount, 0]);
      await remember(record, claim, files);
    });

    test('a cold pull moves each file once and a warm one nothing, not even a question', async () => {
      const cold = counted('reader', files);
      assertWhole(await gather(cold.context, files, signal));
      assert.deepEqual([cold.moved.pulled, cold.moved.addresses], [fileCount, 1]);
      const warm = counted('reader', files);
      assertWhole(await gather(warm.context, files, signal));
      assert.deepEqual(warm.moved, { announced: 0, sent: 0, addresses: 0, pulled: 0 });
    });

    test('of a changed memory only the changed file moves, there and back', async () => {
      const content = randomBytes(700);
      const { sha256 } = await cacheAt('reader').keep(content);
      const changed = [{ path: 'notes/0.md', sha256, bytes: content.length }, ...files.slice(1)];
      const push = counted('reader', files);
      await pushCollected(push.context, { memory: changed }, signal);
      assert.deepEqual([push.moved.announced, push.moved.sent], [1, 1]);
      assert.equal(await record.objects.size(objectKey('local', sha256)), content.length);
    });

    test('contents that the store has lost or changed are told, and never laid', async () => {
      const [victim, other] = files;
      assert.ok(victim && other);
      await record.objects.put(objectKey('local', victim.sha256), randomBytes(victim.bytes));
      await assert.rejects(gather(counted('third', files).context, [victim], signal), {
        code: 'digest_mismatch',
      });
      await record.objects.remove(objectKey('local', other.sha256));
      await assert.rejects(gather(counted('third', files).context, [other], signal), {
        code: 'storage_failed',
      });
    });
  });
