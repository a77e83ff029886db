import { rm } from 'node:fs/promises';
import { after, describe } from 'node:test';
import { describeSandboxContract } from '../contract/sandbox-contract.ts';
import { createBubblewrapDriver } from './driver.ts';

describe('bubblewrap', () => {
  // not under /tmp: sandboxes have a /tmp of their own
  // made by the driver, so that a suite that is filtered out leaves nothing
  const stateFolder = `/var/tmp/lemniscate-bubblewrap-${process.pid}`;
  const serverId = `srv_contract_${process.pid}`;
  after(() => rm(stateFolder, { recursive: true, force: true }));

  describeSandboxContract({
    create: () => createBubblewrapDriver({ stateFolder, serverId }),
    profile: {},
    kernel: 'host',
    parentArguments: ['bubblewrap', stateFolder, serverId],
  });
});
