/**
 * Any fault in the listing of a run leads to no action, with the reason. The tests use the real client and the embedded
 * service, for the policies that choose from a listing. Each policy acts once the fault is gone.
 */
import { expect, test } from 'vitest';
import type { RunningEmulator } from '#emulator/emulator.ts';
import type { OperationFaultRule } from '#emulator/http/faults.ts';
import type { Engine } from '#automate/engine/engine.ts';
import { GUARDS } from '#automate/guardrails/index.ts';
import { systemClock, type Clock } from '#foundation/platform/clock.ts';
import type { OpsEvent } from '#foundation/events/events.ts';
import { actionsOver } from '../../support/actions-over.ts';
import { policyOf } from '../../support/policies.ts';
import { testClient, testEmulator } from '../../support/test-emulator.ts';
import { ASKED, HOUR, NEVER, NOTHING_KNOWN, world } from './world.ts';

const TOKEN = 'token-of-tests';
const YEARS = 10 * 365 * 24 * HOUR;
/** More than two pages. */
const ENTRIES = 110;
const SELECT = { resource: 'workflow-dlq', anyLabel: ['billing'] };
const RESUME = policyOf('workflow-dlq.resume', { name: 'resume', mode: 'enforce', select: SELECT });
const DELETE = policyOf('workflow-dlq.delete', {
  name: 'delete',
  mode: 'enforce',
  select: SELECT,
  action: { archive: { dir: '/nonexistent', require: false }, grace: '1h' },
  limits: { maxPerRun: 1, probation: { runs: 1 } },
});

interface Stage {
  readonly emulator: RunningEmulator;
  readonly engine: Engine;
  readonly events: OpsEvent[];
  /** Offset of the daemon's clock. */
  readonly clock: { aheadMs: number };
}

/** Time of a client that retries a failed read at once: its waits pass in no time. */
function withoutWaits(): Pick<Clock, 'monotonic' | 'after'> {
  let skippedMs = 0;
  return {
    monotonic: () => systemClock.monotonic() + skippedMs,
    after: (ms, run) =>
      ms >= 5_000
        ? systemClock.after(ms, run)
        : systemClock.after(0, () => {
            skippedMs += ms;
            run();
          }),
  };
}

async function stage(): Promise<Stage> {
  const emulator = await testEmulator({ control: true, accounts: [{ id: 'acc-1', token: TOKEN }] });
  const off = { aheadMs: 0 };
  const clock: Clock = { ...systemClock, now: () => emulator.control.clock().now + off.aheadMs };
  const w = world({
    policies: [RESUME, DELETE],
    guards: GUARDS,
    deps: { accounts: new Map([['main', { mode: 'enforce' }]]), facts: NOTHING_KNOWN, clock },
  });
  const waitless = { ...clock, ...withoutWaits() };
  const client = testClient(emulator.url, { account: 'main', token: TOKEN, clock: waitless, events: w.bus });
  w.restart({ actions: actionsOver(client, { account: 'main', clock, events: w.bus }) });
  const made: Stage = { emulator, events: w.events, clock: off, engine: w.engine };
  const runs = { url: 'http://127.0.0.1:9/workflow', labels: ['billing'] };
  await emulator.control.seed({
    failedRuns: [
      { ...runs, status: 503, count: ENTRIES, agoMs: HOUR },
      { ...runs, status: 404, count: 3, agoMs: HOUR },
      { ...runs, labels: ['other'], status: 503, count: 3, agoMs: HOUR },
    ],
  });
  // The grace of deletes begins, and their probation passes.
  await made.engine.run('delete', NEVER);
  await emulator.advance(HOUR);
  await made.engine.run('delete', NEVER);
  return made;
}

const listing = { operations: ['list-workflow-dlq'] };
const SECONDS = ['createdAt', 'workflowCreatedAt'];

interface Row {
  readonly fault?: OperationFaultRule;
  /** Number of stacked copies of the fault; once when absent. */
  readonly times?: number;
  readonly aheadMs?: number;
  readonly guard: string;
  readonly outcome: 'incomplete' | 'aborted';
  readonly says: RegExp;
}

const incomplete = (fault: OperationFaultRule['fault'], says: RegExp, more: Partial<OperationFaultRule> = {}): Row => ({
  fault: { ...listing, ...more, fault },
  guard: 'incomplete_read',
  outcome: 'incomplete',
  says,
});
const insane = (fault: OperationFaultRule['fault'], says: RegExp): Row => ({
  fault: { ...listing, fault },
  guard: 'implausible_data',
  outcome: 'aborted',
  says,
});

const FAULTS: Readonly<Record<string, Row>> = {
  'a page that ends in its middle': incomplete({ kind: 'truncated' }, /truncated/),
  'a page whose connection breaks off': incomplete({ kind: 'truncated', how: 'connection' }, /is incomplete/),
  'a page that never comes': incomplete({ kind: 'lost' }, /is incomplete/),
  'a page without its list': incomplete(
    { kind: 'missing-fields', fields: ['messages'] },
    /does not match the interface/,
  ),
  '500 in the middle': incomplete({ kind: 'status', status: 500 }, /500/, { skip: 1 }),
  '429 in the middle': incomplete({ kind: 'rate-limit', form: 'burst' }, /429/, { skip: 1 }),
  '401 in the middle': incomplete({ kind: 'status', status: 401 }, /401/, { skip: 1 }),
  'a repeated cursor': incomplete({ kind: 'repeated-cursor' }, /repeated a cursor/),
  'a filter that is ignored': {
    fault: { ...listing, fault: { kind: 'ignored-filters', names: ['label'] } },
    guard: 'filter_mismatch',
    outcome: 'aborted',
    says: /ignored the filter label/,
  },
  'entries without dlqId': insane({ kind: 'missing-fields', fields: ['dlqId'] }, /could not be parsed/),
  'entries without workflowRunId': insane(
    { kind: 'missing-fields', fields: ['workflowRunId'] },
    /workflowRunId|parsed/,
  ),
  'entries without workflowUrl': insane({ kind: 'missing-fields', fields: ['workflowUrl'] }, /workflowUrl|parsed/),
  'entries without createdAt': insane({ kind: 'missing-fields', fields: ['createdAt'] }, /parsed/),
  'seconds for milliseconds': insane({ kind: 'seconds', fields: SECONDS }, /are in seconds, not milliseconds/),
  'moments that are neither milliseconds nor seconds': {
    ...insane({ kind: 'seconds', fields: SECONDS }, /could not be parsed/),
    times: 2,
  },
  'a service ten years ahead': insane({ kind: 'clock-skew', ms: YEARS }, /s behind the service/),
  'a service ten years behind': insane({ kind: 'clock-skew', ms: -YEARS }, /s ahead of the service/),
  'a daemon ten years ahead': {
    aheadMs: YEARS,
    guard: 'implausible_data',
    outcome: 'aborted',
    says: /s ahead of the service/,
  },
  'a daemon ten years behind': {
    aheadMs: -YEARS,
    guard: 'implausible_data',
    outcome: 'aborted',
    says: /s behind the service/,
  },
};

test.each(
  Object.entries(FAULTS).flatMap(([what, row]) => [RESUME, DELETE].map(({ name }) => [what, name, row] as const)),
)(
  '%s: %s does nothing, and says why',
  async (_what, policy, { fault, times = 1, aheadMs = 0, guard, outcome, says }) => {
    const s = await stage();
    const { control } = s.emulator;
    const writes = (): readonly string[] =>
      control.requests.list().flatMap(({ method, path }) => (method === 'GET' ? [] : [`${method} ${path}`]));
    const faults = fault === undefined ? [] : Array.from({ length: times }, () => fault);
    for (const one of faults) control.faults.add(one);
    s.clock.aheadMs = aheadMs;

    const held = await s.engine.run(policy, NEVER);
    expect(held).toMatchObject({ outcome, acted: 0, stopped: { guard, reason: expect.stringMatching(says) } });
    expect(s.events.findLast(({ type }) => type === 'policy.run')).toMatchObject({
      policy,
      outcome,
      stopped: { guard },
    });
    const active = () => s.engine.conditions().filter(({ key }) => key === `held/${policy}`);
    expect(active()).toMatchObject([{ guard, detail: expect.stringMatching(says) }]);
    expect(s.events.findLast(({ type }) => type === 'policy.run')).not.toHaveProperty('matched', expect.anything());
    expect(await s.engine.plan(policy, ASKED, NEVER)).toMatchObject({ plan: { state: 'aborted', chosen: [] } });
    expect(writes()).toEqual([]);

    control.faults.clear();
    s.clock.aheadMs = 0;
    expect(await s.engine.run(policy, NEVER)).toMatchObject({ outcome: 'acted', acted: 1 });
    expect(writes()).toHaveLength(1);
    expect(active()).toEqual([]);
  },
);
