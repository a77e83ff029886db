/** A server that dies: boots one sandbox with a long command in it, says so, and waits to be killed. */
import type { SandboxDriverName, SandboxProfile } from '../../../application/ports/sandbox-driver.ts';
import { sandboxDrivers } from '../registry.ts';

const [name = '', stateFolder = '', serverId = '', profile = '{}'] = process.argv.slice(2);
const bounds = JSON.parse(profile) as SandboxProfile;
const { image } = bounds;
const options = { stateFolder, serverId, ...(image === undefined ? {} : { image }) };
const driver = sandboxDrivers[name as SandboxDriverName](options);
const sandbox = await driver.boot('sbx_orphan', bounds);
sandbox.run({ argv: ['sleep', '4243'], timeoutMs: 600_000, maxOutputBytes: 1 });
process.stdout.write('booted\n');
setInterval(() => undefined, 60_000);
