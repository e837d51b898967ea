/** The engine over the real client and the embedded service, with a proxy that can lose a response. */
import { describe, expect, test } from 'vitest';
import type { RunningEmulator } from '#emulator/emulator.ts';
import type { Switches } from '#emulator/state/switches.ts';
import type { Engine } from '#automate/engine/engine.ts';
import type { Ledger } from '#automate/ledger/ledger.ts';
import { systemClock, type Clock } from '#foundation/platform/clock.ts';
import type { OpsEvent } from '#foundation/events/events.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { actionsOver } from '../../support/actions-over.ts';
import { faultProxy } from '../../support/fault-proxy.ts';
import { httpSink, type HttpSink } from '../../support/http-sink.ts';
import { TEST_TOKEN } from '../../support/service.ts';
import { testClient, testEmulator } from '../../support/test-emulator.ts';
import { until } from '../../support/until.ts';
import { ASKED, NEVER, NOTHING_KNOWN, policyOf, world } from './world.ts';

const ACCOUNT = 'acc-1';

interface Stage {
  readonly emulator: RunningEmulator;
  readonly workflows: HttpSink;
  readonly engine: Engine;
  readonly ledger: Ledger;
  readonly events: OpsEvent[];
  /** Answers of POST requests to lose after the service has acted. */
  lose: number;
  /** Lead of the daemon's clock over the service, in milliseconds. */
  aheadMs: number;
  trigger(path: string, labels: string, body?: string): Promise<void>;
}

async function stage(switches: Partial<Switches> = {}, policy: object = {}): Promise<Stage> {
  const workflows = await httpSink((_request, response) => {
    response.statusCode = 503;
    response.end('down');
  });
  const random = seededRandom(7);
  const ahead: Clock = { ...systemClock, now: () => systemClock.now() + made.aheadMs };
  const emulator = await testEmulator({ random, switches, enforceLimits: true });
  const road = await faultProxy(emulator.url);
  road.decide(({ method }) => {
    if (method !== 'POST' || made.lose === 0) return 'pass';
    made.lose--;
    return 'lose';
  });
  const w = world({
    policies: [policyOf({ limits: { attempts: { max: 2, backoff: ['1s'] } }, ramp: { settle: '1s' }, ...policy })],
    deps: { clock: ahead, facts: NOTHING_KNOWN, settleMs: 20 },
  });
  const client = testClient(road.url, { clock: systemClock, events: w.bus, random });
  w.restart({ actions: actionsOver(client, { clock: ahead, events: w.bus }) });
  const { engine, ledger, events } = w;
  const made: Stage = {
    emulator,
    workflows,
    ledger,
    events,
    engine,
    lose: 0,
    aheadMs: 0,
    async trigger(path, labels, body = '') {
      const response = await fetch(`${emulator.url}/v2/trigger/${workflows.url}${path}`, {
        method: 'POST',
        body,
        headers: { Authorization: `Bearer ${TEST_TOKEN}`, 'Svc-Retries': '0', 'Svc-Label': labels },
      });
      expect(response.status).toBe(200);
    },
  };
  return made;
}

async function failed(s: Stage, count: number): Promise<void> {
  await until({ what: `${count} failed runs` }, () => s.emulator.workflowDlq(ACCOUNT).length === count);
}

async function outcomes(s: Stage): Promise<readonly (string | undefined)[]> {
  return (await s.ledger.recentActions(100)).map((action) => action.outcome);
}

describe('over the embedded service', () => {
  test('a repaired workflow is resumed with its labels and verified', async () => {
    const s = await stage();
    await s.trigger('/invoice', 'billing,tenant:14');
    await s.trigger('/report', 'reports');
    await failed(s, 2);
    s.workflows.answerWith((_request, response) => void response.end('ok'));
    await s.engine.run('resume-billing', NEVER);
    await until({ what: 'the resumed run' }, () => s.workflows.requests.length === 3);
    expect(s.emulator.workflowDlq(ACCOUNT).map((run) => run.labels)).toEqual([['reports']]);
    const resumed = s.emulator.messages(ACCOUNT).at(-1)!;
    expect(resumed.labels).toEqual([expect.stringMatching(/^opsd:here:[0-9a-f]{16}:1$/), 'billing', 'tenant:14']);
    await until({ what: 'the verified act' }, async () => {
      await s.engine.settle(NEVER);
      return (await outcomes(s))[0] === 'verified';
    });
  });

  test.each([
    ['replaces labels and renews run ids', {}],
    ['adds labels', { labelOverride: 'adds' }],
    ['keeps run ids', { resumeRunIds: 'keep' }],
    ['ends its cursors with an empty one', { endCursor: 'empty' }],
  ] as [string, Partial<Switches>][])('attempts are counted where the service %s', async (_what, switches) => {
    const s = await stage(switches);
    await s.trigger('/invoice', 'billing');
    await failed(s, 1);
    for (const attempt of [1, 2]) {
      await s.engine.run('resume-billing', NEVER);
      s.aheadMs += 1_000;
      await until({ what: 'the return' }, () => s.workflows.requests.length === attempt + 1);
      await failed(s, 1);
    }
    const planned = await s.engine.plan('resume-billing', ASKED, NEVER);
    expect(planned.ok && planned.plan.skipped).toEqual([{ guard: 'attempts', reason: '2 of 2', count: 1 }]);
    await s.engine.settle(NEVER);
    await until({ what: 'both acts judged' }, async () => {
      await s.engine.settle(NEVER);
      return (await outcomes(s)).every((outcome) => outcome === 'failed_again');
    });
  });

  test.each([
    ['renews run ids and replaces labels', {}],
    ['keeps run ids and adds labels', { resumeRunIds: 'keep', labelOverride: 'adds' }],
  ] as [string, Partial<Switches>][])(
    'of two runs with one body the delivered one is verified and the other was never attempted, where the service %s',
    async (_what, switches) => {
      const s = await stage(switches, { limits: { maxPerRun: 1 } });
      for (const count of [1, 2]) {
        await s.trigger('/invoice', 'billing', '{"invoice":1}');
        await failed(s, count);
      }
      s.workflows.answerWith((_request, response) => void response.end('ok'));
      await s.engine.run('resume-billing', NEVER);
      await until({ what: 'the resumed run' }, () => s.workflows.requests.length === 3);
      const planned = await s.engine.plan('resume-billing', ASKED, NEVER);
      expect(planned.ok && planned.plan.chosen).toMatchObject([{ attempt: 1 }]);
      await until({ what: 'the verified act' }, async () => {
        await s.engine.settle(NEVER);
        return (await outcomes(s))[0] === 'verified';
      });
    },
  );

  test('a response lost in the network is never sent again, and resolved by reading', async () => {
    const s = await stage();
    await s.trigger('/invoice', 'billing');
    await failed(s, 1);
    s.workflows.answerWith((_request, response) => void response.end('ok'));
    s.lose = 1;
    await s.engine.run('resume-billing', NEVER);
    expect(await outcomes(s)).toEqual(['unknown']);
    await s.engine.run('resume-billing', NEVER);
    await until({ what: 'the resolved act' }, async () => {
      await s.engine.settle(NEVER);
      return (await outcomes(s))[0] === 'confirmed_applied';
    });
    await s.engine.run('resume-billing', NEVER);
    const resumes = s.events.filter((e) => e.type === 'api.request' && e.operation === 'resume-workflow-dlq');
    expect(resumes).toHaveLength(1);
    expect(s.workflows.requests).toHaveLength(2);
  });
});
