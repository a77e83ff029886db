import { mkdtempSync, chmodSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { after, describe } from 'node:test';
import { describeSandboxContract } from '../contract/sandbox-contract.ts';
import { createBubblewrapDriver } from './driver.ts';

describe('bubblewrap', () => {
  // not under /tmp: sandboxes have a /tmp of their own, and the unprivileged bwrap must reach it
  const stateFolder = mkdtempSync('/var/tmp/lemniscate-bubblewrap-');
  chmodSync(stateFolder, 0o755);
  const serverId = `srv_contract_${process.pid}`;
  after(() => rm(stateFolder, { recursive: true, force: true }));

  describeSandboxContract({
    create: () => createBubblewrapDriver({ stateFolder, serverId }),
    profile: {},
    kernel: 'host',
    parentArguments: ['bubblewrap', stateFolder, serverId],
  });
});
