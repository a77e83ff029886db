import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTimeOf } from './process/start-time.ts';
import { childPlan } from './process/testing/child-plan.ts';
import { superviseService } from './service-process.ts';
import { scratchFolder } from './testing/scratch-folder.ts';
import { until } from './testing/until.ts';

const bounds = { crashes: 3, windowMs: 60_000, firstPauseMs: 1, longestPauseMs: 10 };

test('a service that is killed comes back, and stays away after the stop', async (t) => {
  const said: string[] = [];
  const service = await superviseService(
    childPlan(scratchFolder(t), 'serves'),
    (line) => said.push(line),
    bounds,
  );
  const first = service.pid() ?? assert.fail('no pid');
  process.kill(first, 'SIGKILL');
  await until('another process runs', () => ![undefined, first].includes(service.pid()));
  const second = service.pid() ?? assert.fail('no pid');
  assert.equal(service.restarts(), 1);
  assert.deepEqual(said, ['child was ended by SIGKILL; restart 1']);
  await service.stop();
  await service.stop();
  assert.equal(startTimeOf(second), undefined);
  assert.equal(service.pid(), undefined);
});

test('a service that crashes again and again is given up with its last lines', async (t) => {
  const service = await superviseService(childPlan(scratchFolder(t), 'serves'), () => undefined, bounds);
  let killed = 0;
  while (killed < bounds.crashes) {
    const pid = service.pid();
    await until('it runs', () => service.pid() !== undefined);
    process.kill(service.pid() ?? assert.fail(`no pid after ${pid}`), 'SIGKILL');
    killed += 1;
    await until('the crash is seen', () => service.pid() === undefined || service.restarts() === killed);
  }
  const error = await service.gaveUp;
  assert.equal(error.code, 'service_unreachable');
  assert.match(error.message, /child crashed 3 times[^]*ready/);
  await service.stop();
});

test('a first start that fails is an error, and nothing is started again', async (t) => {
  const plan = childPlan(scratchFolder(t), 'fails');
  await assert.rejects(
    superviseService(plan, () => assert.fail('no restart'), bounds),
    {
      code: 'service_unreachable',
    },
  );
});

test('a stop during the pause before a restart ends it', async (t) => {
  const slow = { ...bounds, firstPauseMs: 60_000, longestPauseMs: 60_000 };
  const service = await superviseService(childPlan(scratchFolder(t), 'serves'), () => undefined, slow);
  process.kill(service.pid() ?? assert.fail('no pid'), 'SIGKILL');
  await until('it is down', () => service.pid() === undefined);
  await service.stop();
  assert.equal(service.restarts(), 0);
});
