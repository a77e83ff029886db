import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { noFaults } from './plan.ts';
import { startSimulatedFleet } from './simulated-fleet.ts';

// Simulated agent servers as a program: prints their addresses as AGENT_SERVERS_FILE takes them, and runs until it is
// stopped. Faults are shares of orders, durations are milliseconds.

const { values } = parseArgs({
  options: {
    servers: { type: 'string', default: '100' },
    capacity: { type: 'string', default: '10' },
    pool: { type: 'string', default: 'default' },
    seed: { type: 'string', default: '1' },
    'heartbeat-ms': { type: 'string', default: '2000' },
    'start-ms': { type: 'string', default: '50' },
    'work-ms': { type: 'string', default: '1000' },
    heavy: { type: 'boolean', default: false },
    full: { type: 'string', default: '0' },
    fail: { type: 'string', default: '0' },
    cut: { type: 'string', default: '0' },
    mute: { type: 'string', default: '0' },
    ca: { type: 'string' },
    'ca-key': { type: 'string' },
    dispatcher: { type: 'string', multiple: true, default: [] },
  },
});

if (values.ca === undefined || values['ca-key'] === undefined || values.dispatcher.length === 0) {
  console.error('Needed: --ca FILE --ca-key FILE --dispatcher https://HOST:PORT (its internal listener).');
  process.exit(2);
}
const workMs = Number(values['work-ms']);
const fleet = await startSimulatedFleet({
  plan: {
    seed: Number(values.seed),
    servers: Number(values.servers),
    capacity: Number(values.capacity),
    pool: values.pool,
    heartbeatMs: Number(values['heartbeat-ms']),
    start: { kind: 'fixed', ms: Number(values['start-ms']) },
    work: values.heavy
      ? { kind: 'heavy', medianMs: workMs, shape: 1.2, mostMs: 600 * workMs }
      : { kind: 'fixed', ms: workMs },
    faults: {
      ...noFaults,
      full: Number(values.full),
      fail: Number(values.fail),
      cut: Number(values.cut),
      mute: Number(values.mute),
    },
  },
  ca: values.ca,
  caKey: values['ca-key'],
  dispatcherUrls: () => values.dispatcher,
  onFault: (what) => console.error(what),
});
for (const address of fleet.addresses) console.log(address);
// Dispatchers read the list every two seconds; a heartbeat before that is refused.
await delay(3_000);
fleet.startHeartbeats();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void fleet.close());
