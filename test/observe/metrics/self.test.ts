import { describe, expect, test } from 'vitest';
import type { EngineReadings } from '#foundation/domain/engine-readings.ts';
import { RUN_OUTCOMES } from '#foundation/domain/plan.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import type { ServiceErrorCode } from '#foundation/domain/service-error.ts';
import { ACTION_OUTCOMES } from '#automate/ledger/intents.ts';
import type { EventOf, OpsEvent } from '#foundation/events/events.ts';
import { event } from '../../support/events.ts';
import { until } from '../../support/until.ts';
import { CALM, NOW, seriesOf, world } from './world.ts';

const request = (code: number | 'error', failure?: ServiceErrorCode): OpsEvent =>
  event('api.request', { code, ...(failure && { failure }) });

describe('msgsvc_up', () => {
  const UP = 'msgsvc_up{account="prod",api="message"}';

  test('exists from the start, as 0, for each configured API', async () => {
    const { scrape } = await world({ accounts: [{ name: 'prod', apis: ['message'], requestsPerDay: 1 }] });
    expect(seriesOf(await scrape(), 'msgsvc_up')).toEqual({ [UP]: 0 });
  });

  test.each<[number | 'error', ServiceErrorCode | undefined, number]>([
    [200, undefined, 1],
    [404, 'not_found', 1],
    [400, 'client_error', 1],
    [401, 'unauthorized', 0],
    [403, 'forbidden', 0],
    [503, 'server_error', 0],
    [200, 'malformed', 0],
    ['error', 'connection', 0],
    ['error', 'timeout', 0],
  ])('after a response %s (%s) is %d', async (code, failure, up) => {
    const { scrape, events } = await world();
    events.emit(request(up === 1 ? 500 : 200, up === 1 ? 'server_error' : undefined));
    events.emit(request(code, failure));
    expect((await scrape()).get(UP)).toBe(up);
  });

  test('is unchanged when the last response says nothing about the service', async () => {
    const { scrape, events } = await world();
    events.emit(request(200));
    for (const failure of ['rate_limited', 'aborted', 'budget', 'too_large'] as const)
      events.emit(request('error', failure));
    expect((await scrape()).get(UP)).toBe(1);
  });

  test('drops without a response for two intervals', async () => {
    const { scrape, events, clock } = await world();
    events.emit(request(200));
    await clock.advance(120_000);
    expect((await scrape()).get(UP)).toBe(1);
    await clock.advance(1);
    expect((await scrape()).get(UP)).toBe(0);
  });

  test('is absent for an API without requests, except for a while after a request of a policy', async () => {
    const { scrape, events, clock } = await world({ collectors: ['accountStats'] });
    expect((await scrape()).has(UP)).toBe(false);
    events.emit(request(503, 'server_error'));
    expect((await scrape()).get(UP)).toBe(0);
    events.emit(request(200));
    expect((await scrape()).get(UP)).toBe(1);
    await clock.advance(600_001);
    expect((await scrape()).has(UP)).toBe(false);
  });
});

describe('collectors', () => {
  test('are known before their first run, with all their counters at 0', async () => {
    const samples = await (await world({ collectors: ['logs'] })).scrape();
    const logs = 'account="prod",collector="logs"';
    expect(samples.get(`opsd_collector_runs_total{${logs}}`)).toBe(0);
    expect(samples.get(`opsd_collector_failures_total{${logs},reason="timeout"}`)).toBe(0);
    expect(samples.get(`opsd_collector_runs_skipped_total{${logs},reason="overlap"}`)).toBe(0);
    expect(samples.get(`opsd_collector_interval_seconds{${logs}}`)).toBe(60);
    expect(samples.get(`opsd_collector_stale{${logs}}`)).toBe(1);
    expect(seriesOf(samples, 'opsd_collector_success')).toEqual({});
    expect(seriesOf(samples, 'opsd_workflow_dlq_listing_complete')).toEqual({});
  });

  test('that are off have no series', async () => {
    const { board, scrape } = await world({ collectors: [] });
    const times = { schedule: '', intervalMs: 1, maxStalenessMs: 1 };
    board.register({ account: 'prod', collector: 'logs', ...times, off: 'no API' });
    expect(seriesOf(await scrape(), 'opsd_collector_stale')).toEqual({});
  });

  test('show the result of their last run', async () => {
    const { board, events, publish, clock, scrape } = await world();
    publish('workflowDlq', []);
    await clock.advance(1_000);
    const failure = { reason: 'budget', message: 'more pages than allowed' };
    board.fail('prod', 'workflowDlq', { ...failure, durationMs: 40 });
    events.emit(event('collector.finished', { collector: 'workflowDlq', failure }));
    events.emit({ type: 'collector.skipped', account: 'prod', collector: 'workflowDlq', reason: 'overlap' });
    const samples = await scrape();
    const dlq = 'account="prod",collector="workflowDlq"';
    expect(samples.get(`opsd_collector_success{${dlq}}`)).toBe(0);
    expect(samples.get(`opsd_collector_duration_seconds{${dlq}}`)).toBe(0.04);
    expect(samples.get(`opsd_collector_last_success_timestamp_seconds{${dlq}}`)).toBe(NOW / 1_000);
    expect(samples.get(`opsd_collector_runs_total{${dlq}}`)).toBe(1);
    expect(samples.get(`opsd_collector_failures_total{${dlq},reason="budget"}`)).toBe(1);
    expect(samples.get(`opsd_collector_runs_skipped_total{${dlq},reason="overlap"}`)).toBe(1);
    expect(samples.get('opsd_workflow_dlq_listing_complete{account="prod"}')).toBe(0);
  });
});

test('the log is shown with its lag and its catch-up rate, while runs of its collector fail', async () => {
  const { board, clock, scrape } = await world({ collectors: ['logs'] });
  board.logLag.take('prod', NOW - 900_000);
  await clock.advance(60_000);
  board.logLag.take('prod', NOW - 720_000);
  board.fail('prod', 'logs', { reason: 'timeout', message: 'no answer', durationMs: 40 });
  const samples = await scrape();
  expect(samples.get('opsd_log_watermark_timestamp_seconds{account="prod"}')).toBe(NOW / 1_000 - 720);
  expect(samples.get('opsd_log_lag_seconds{account="prod"}')).toBe(780);
  expect(samples.get('opsd_log_catch_up_ratio{account="prod"}')).toBe(3);
});

describe('requests', () => {
  test('link to the span of the daemon that made them', async () => {
    const spans = [undefined, { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) }];
    const { events, text } = await world({ deps: { currentSpan: () => spans.shift() } });
    events.emit(request(200));
    const bucket = /^opsd_api_request_duration_seconds_bucket\{le="0.25",.* # (.*)$/m;
    expect(await text('openmetrics')).not.toMatch(bucket);
    events.emit(request(200));
    const exemplar = `{trace_id="${'a'.repeat(32)}",span_id="${'b'.repeat(16)}"} 0.12 ${NOW / 1_000}`;
    expect(bucket.exec(await text('openmetrics'))?.[1]).toBe(exemplar);
  });

  test('are counted by operation and code, successes and failures from 0 together', async () => {
    const { events, scrape } = await world();
    events.emit(request(200));
    events.emit({ type: 'api.throttled', account: 'prod', api: 'message', waitMs: 250 });
    events.emit({ type: 'api.rate_limit', account: 'prod', api: 'message', window: 'burst', remaining: 9 });
    events.emit(event('api.invalid_rows', { count: 2, values: 1 }));
    const samples = await scrape();
    const operation = 'account="prod",api="message",operation="list-logs"';
    expect(samples.get(`opsd_api_requests_total{${operation},code="200"}`)).toBe(1);
    expect(samples.get(`opsd_api_requests_total{${operation},code="error"}`)).toBe(0);
    expect(samples.get(`opsd_api_request_retries_total{${operation}}`)).toBe(0);
    expect(samples.get(`opsd_api_response_bytes_total{${operation}}`)).toBe(50);
    expect(samples.get(`opsd_api_request_duration_seconds_sum{${operation}}`)).toBeCloseTo(0.12);
    expect(samples.get('opsd_api_throttle_wait_seconds_total{account="prod",api="message"}')).toBe(0.25);
    expect(samples.get('opsd_api_throttled_requests_total{account="prod",api="management"}')).toBe(0);
    expect(samples.get('opsd_api_rate_limit_remaining_requests{account="prod",api="message",window="burst"}')).toBe(9);
    expect(samples.get('opsd_api_invalid_rows_total{account="prod",operation="list-logs"}')).toBe(2);
    expect(samples.get('opsd_invalid_values_total{source="responses"}')).toBe(1);
    expect(samples.get('opsd_api_quota_requests{account="prod",api="management"}')).toBe(1_000);
    expect(samples.get('opsd_api_quota_used_requests{account="prod",api="management"}')).toBe(7);
  });
});

describe('policies and actions', () => {
  const policy: PolicyStatus = {
    name: 'resume',
    account: 'prod',
    owner: 'sre',
    action: 'workflow-dlq.resume',
    campaigns: [],
    source: 'policies.yaml:1',
    schedule: 'every 5m',
    mode: 'enforce',
    effectiveMode: 'audit',
    nextRunAt: NOW + 5_000,
  };
  const run = (more: Partial<EventOf<'policy.run'>> = {}) => event('policy.run', { at: NOW, ...more });
  const labels = 'account="prod",policy="resume"';

  test('show mode and next run; every outcome exists from 0', async () => {
    const { scrape } = await world({
      deps: { configuredPolicies: [policy] },
      facts: async () => ({ policies: [policy] }),
    });
    const samples = await scrape();
    expect(samples.get(`opsd_policy_mode_info{${labels},owner="sre",mode="enforce",effective_mode="audit"}`)).toBe(1);
    expect(samples.get(`opsd_policy_next_run_timestamp_seconds{${labels}}`)).toBe(NOW / 1_000 + 5);
    expect(Object.values(seriesOf(samples, 'opsd_policy_runs_total'))).toEqual(RUN_OUTCOMES.map(() => 0));
  });

  test('count runs, denials and errors', async () => {
    const { events, scrape } = await world();
    events.emit(run({ denials: [{ guard: 'attempts', count: 4 }], evaluationErrors: 2 }));
    const samples = await scrape();
    expect(samples.get(`opsd_policy_runs_total{${labels},outcome="acted"}`)).toBe(1);
    expect(samples.get(`opsd_policy_matched_items{${labels}}`)).toBe(5);
    expect(samples.get(`opsd_policy_backlog_items{${labels}}`)).toBe(2);
    expect(samples.get(`opsd_policy_guard_denials_total{${labels},guard="attempts"}`)).toBe(4);
    expect(samples.get(`opsd_policy_evaluation_errors_total{${labels}}`)).toBe(2);
  });

  test('of all manual plans share one value of the label, without gauges of one plan', async () => {
    const { events, scrape } = await world();
    for (const policy of ['manual:aa', 'manual:bb']) events.emit(run({ policy }));
    const samples = await scrape();
    expect(seriesOf(samples, 'opsd_policy_runs_total')).toEqual({
      'opsd_policy_runs_total{account="prod",policy="(manual)",outcome="acted"}': 2,
    });
    expect(seriesOf(samples, 'opsd_policy_matched_items')).toEqual({});
    expect(seriesOf(samples, 'opsd_policy_backlog_items')).toEqual({});
  });

  test('show since when a guard holds, and its name, as the page does', async () => {
    let held: PolicyStatus['held'] = { guard: 'caps', reason: 'full', since: NOW - 60_000 };
    const w = await world({ facts: async () => ({ policies: [{ ...policy, ...(held && { held }) }] }) });
    const shown = async (): Promise<Record<string, number>> => {
      w.events.emit(run());
      return seriesOf(await w.scrape(), 'opsd_policy_held_since_timestamp_seconds');
    };
    expect(await shown()).toEqual({
      [`opsd_policy_held_since_timestamp_seconds{${labels},guard="caps"}`]: NOW / 1_000 - 60,
    });
    held = { guard: 'kill_switch', reason: 'paused', since: NOW };
    expect(await shown()).toEqual({
      [`opsd_policy_held_since_timestamp_seconds{${labels},guard="kill_switch"}`]: NOW / 1_000,
    });
    held = undefined;
    expect(await shown()).toEqual({});
  });

  test('show how long the backlog takes, if there is one', async () => {
    const { events, scrape } = await world();
    const drain = `opsd_policy_drain_seconds{${labels}}`;
    events.emit(run({ drainMs: 90_000 }));
    expect((await scrape()).get(drain)).toBe(90);
    events.emit(run());
    expect((await scrape()).has(drain)).toBe(false);
  });

  test('show the step and the breaker of each campaign', async () => {
    const campaign = (group: string, size: number, breaker: 'closed' | 'half-open' | 'open') => ({
      id: `resume/${group}`,
      policy: 'resume',
      account: 'prod',
      group,
      state: 'ready' as const,
      step: 2,
      size,
      begunAt: NOW,
      halts: 0,
      recent: [],
      judged: 1,
      verified: 1,
      breaker,
    });
    const campaigns = [
      campaign('https://app.example/a?secret=1', 3, 'closed'),
      campaign('https://app.example/b', 1, 'half-open'),
      campaign('app.example', 9, 'open'),
    ];
    const samples = await (await world({ facts: async () => ({ policies: [{ ...policy, campaigns }] }) })).scrape();
    expect(seriesOf(samples, 'opsd_campaign_step_items')).toEqual({
      [`opsd_campaign_step_items{${labels},group="app.example/a"}`]: 3,
      [`opsd_campaign_step_items{${labels},group="app.example/b"}`]: 1,
      [`opsd_campaign_step_items{${labels},group="app.example"}`]: 9,
    });
    expect(seriesOf(samples, 'opsd_breaker_state')).toEqual({
      [`opsd_breaker_state{${labels},group="app.example/a"}`]: 0,
      [`opsd_breaker_state{${labels},group="app.example/b"}`]: 1,
      [`opsd_breaker_state{${labels},group="app.example"}`]: 2,
    });
  });

  test('show pending approvals, the room of windows, pauses and the lease', async () => {
    const engine: EngineReadings = {
      unknownOutcomes: 2,
      oldestIntentAt: NOW - 5_000,
      approvals: [{ account: 'prod', policy: 'resume', since: NOW - 9_000 }],
      deploys: [{ account: 'prod', of: ['https://app.example.com/'], version: 'v42', at: NOW }],
      caps: [{ scope: 'engine deletes', window: 'day', remaining: 7 }],
      paused: new Map([
        ['engine', false],
        ['policy/resume', true],
      ]),
      isLeader: false,
    };
    const calm = { ...policy, name: 'calm' };
    const { scrape } = await world({ deps: { configuredPolicies: [policy, calm] }, facts: async () => ({ engine }) });
    const samples = await scrape();
    expect(samples.get('opsd_unknown_outcomes')).toBe(2);
    expect(samples.get('opsd_oldest_intent_timestamp_seconds')).toBe(NOW / 1_000 - 5);
    expect(samples.get(`opsd_pending_plans{${labels}}`)).toBe(1);
    expect(samples.get('opsd_pending_plans{account="prod",policy="calm"}')).toBe(0);
    expect(seriesOf(samples, 'opsd_oldest_pending_plan_timestamp_seconds')).toEqual({
      [`opsd_oldest_pending_plan_timestamp_seconds{${labels}}`]: NOW / 1_000 - 9,
    });
    expect(samples.get('opsd_cap_remaining{scope="engine deletes",window="day"}')).toBe(7);
    expect(samples.get('opsd_paused{scope="engine"}')).toBe(0);
    expect(samples.get('opsd_paused{scope="policy/resume"}')).toBe(1);
    expect(samples.get('opsd_leader')).toBe(0);
    const deployed = 'opsd_deploy_timestamp_seconds{account="prod",of="https://app.example.com/",version="v42"}';
    expect(samples.get(deployed)).toBe(NOW / 1_000);
  });

  test('about bodies exist for the accounts that keep them, with their counters before the first event', async () => {
    const { scrape } = await world({ facts: async () => ({ bodyBytes: new Map([['prod', 7]]) }) });
    const samples = await scrape();
    expect(samples.get('opsd_dead_letter_bodies_bytes{account="prod"}')).toBe(7);
    for (const reason of ['too_large', 'redacted', 'incomplete', 'length', 'key']) {
      expect(samples.get(`opsd_dead_letter_bodies_not_kept_total{account="prod",reason="${reason}"}`)).toBe(0);
    }
    for (const reason of ['expired', 'total']) {
      expect(samples.get(`opsd_dead_letter_bodies_dropped_total{account="prod",reason="${reason}"}`)).toBe(0);
    }
    const without = await (await world()).scrape();
    expect([...without.keys()].filter((name) => name.startsWith('opsd_dead_letter_bodies'))).toEqual([]);
  });

  test('about bodies count what was not kept and what was dropped', async () => {
    const { scrape, events } = await world();
    events.emit({ type: 'body.received', account: 'prod' });
    events.emit({ type: 'body.received', account: 'prod', lack: 'key', problem: 'ENOENT' });
    events.emit({ type: 'bodies.dropped', account: 'prod', reason: 'total', count: 3 });
    const samples = await scrape();
    expect(samples.get('opsd_dead_letter_bodies_not_kept_total{account="prod",reason="key"}')).toBe(1);
    expect(samples.get('opsd_dead_letter_bodies_dropped_total{account="prod",reason="total"}')).toBe(3);
  });

  test('are read from the store after an event and on request, and never by a scrape', async () => {
    let reads = 0;
    let isBroken = false;
    const w = await world({
      async facts() {
        reads += 1;
        if (isBroken) throw new Error('disk');
        return { engine: { ...CALM, unknownOutcomes: reads } };
      },
    });
    const shown = async () => /^opsd_unknown_outcomes (\d+)$/m.exec(await w.text())?.[1];
    expect([await shown(), reads]).toEqual([undefined, 0]);
    await w.metrics.readStore();
    expect([await shown(), await shown(), reads]).toEqual(['1', '1', 1]);
    w.events.emit(run());
    await until({ what: 'the reading after the event' }, async () => (await shown()) === '2');
    isBroken = true;
    await w.metrics.readStore();
    expect(await shown()).toBeUndefined();
    isBroken = false;
    await w.metrics.readStore();
    expect([await shown(), reads]).toEqual(['4', 4]);
  });

  test('show a change that came during a reading', async () => {
    const held: PromiseWithResolvers<void>[] = [];
    let unknownOutcomes = 1;
    const w = await world({
      async facts() {
        const engine = { ...CALM, unknownOutcomes };
        const one = Promise.withResolvers<void>();
        held.push(one);
        await one.promise;
        return { engine };
      },
    });
    const read = w.metrics.readStore();
    await until({ what: 'reading 1' }, () => held.length === 1);
    unknownOutcomes = 2;
    w.events.emit(run());
    w.events.emit(run());
    held[0]!.resolve();
    await until({ what: 'reading 2' }, () => held.length === 2);
    held[1]!.resolve();
    await read;
    expect(await w.text()).toMatch(/^opsd_unknown_outcomes 2$/m);
    expect(held).toHaveLength(2);
  });

  test('count an item once, and its outcome when it is known', async () => {
    const { events, scrape } = await world();
    const outcome = (name: string, durationMs: number, more: object = {}): OpsEvent =>
      event('action.outcome', { outcome: name, durationMs, ...more });
    events.emit(outcome('rejected', 80));
    events.emit(outcome('accepted', 80));
    events.emit(outcome('verified', 0));
    events.emit(outcome('unknown', 0));
    const samples = await scrape();
    const action = `${labels},action="workflow-dlq.resume"`;
    expect(samples.get(`opsd_action_items_total{${action}}`)).toBe(2);
    expect(samples.get(`opsd_action_outcomes_total{${action},outcome="verified"}`)).toBe(1);
    expect(samples.get(`opsd_action_outcomes_total{${action},outcome="failed_again"}`)).toBe(0);
    expect(samples.get('opsd_action_duration_seconds_count{account="prod",action="workflow-dlq.resume"}')).toBe(2);
    const known = Object.keys(seriesOf(samples, 'opsd_action_outcomes_total'));
    expect(known.map((series) => /outcome="(\w+)"/.exec(series)![1]).toSorted(byText)).toEqual(
      ACTION_OUTCOMES.toSorted(byText),
    );
    const page = { action: 'message-dlq.prune', items: 100 };
    events.emit(outcome('accepted', 80, { ...page, done: 7 }));
    events.emit(outcome('accepted', 80, { ...page, done: 0 }));
    expect((await scrape()).get(`opsd_action_items_total{${labels},action="message-dlq.prune"}`)).toBe(7);
    events.emit(outcome('unknown', 80, page));
    expect((await scrape()).get(`opsd_action_items_total{${labels},action="message-dlq.prune"}`)).toBe(107);
  });
});

test('the daemon shows its build and its state', async () => {
  const lines = new Map([['warn', 2]]);
  const { events, scrape } = await world({
    deps: { stateRestored: true, logLines: () => lines },
    facts: async () => ({ engine: { ...CALM, unknownOutcomes: 3 } }),
  });
  events.emit({ type: 'store.failed', operation: 'commit', message: 'disk full' });
  events.emit({ type: 'schedule.rearmed', name: 'x', jumpMs: 1 });
  const read = { type: 'credential.read', account: 'prod', credential: 'token' } as const;
  events.emit({ ...read, writtenAt: NOW - 90 * 86_400_000, isReplaced: false });
  events.emit({ ...read, writtenAt: NOW - 60_000, isReplaced: true });
  await scrape();
  lines.set('warn', 5);
  const samples = await scrape();
  expect(samples.get('opsd_state_save_failures_total')).toBe(1);
  expect(samples.get('opsd_schedule_rearms_total')).toBe(1);
  expect(samples.get('opsd_credential_rotated_timestamp_seconds{account="prod",credential="token"}')).toBe(
    NOW / 1_000 - 60,
  );
  expect(samples.get('opsd_log_messages_total{level="warn"}')).toBe(5);
  expect(samples.get('opsd_log_messages_total{level="error"}')).toBe(0);
  expect(samples.get('opsd_state_restored')).toBe(1);
  expect(samples.get('opsd_unknown_outcomes')).toBe(3);
  expect(samples.get('opsd_config_hash')).toBe(42);
  expect(seriesOf(samples, 'opsd_build_info')).toEqual({
    [`opsd_build_info{version="1.2.3",revision="abc",node_version="${process.version}"}`]: 1,
  });
  expect(samples.get('process_resident_memory_bytes')).toBeGreaterThan(1e7);
  expect(samples.get('process_cpu_seconds_total')).toBeGreaterThan(0);
  if (process.platform === 'linux') expect(samples.get('process_open_fds')).toBeGreaterThan(2);
});

test('the time of the last save is shown once there was one', async () => {
  let savedAt: number | undefined;
  const { scrape } = await world({ deps: { savedAt: () => savedAt } });
  expect(seriesOf(await scrape(), 'opsd_state_last_save_timestamp_seconds')).toEqual({});
  savedAt = NOW - 1_500;
  expect((await scrape()).get('opsd_state_last_save_timestamp_seconds')).toBe((NOW - 1_500) / 1_000);
});

test('records of the audit log are counted, written and failed ones', async () => {
  let audit = { records: 2, failures: 0 };
  const { scrape } = await world({ deps: { audit: () => audit } });
  const shown = async () => {
    const samples = await scrape();
    return ['records', 'write_errors'].map((what) => samples.get(`opsd_audit_${what}_total`));
  };
  expect(await shown()).toEqual([2, 0]);
  audit = { records: 5, failures: 1 };
  expect(await shown()).toEqual([5, 1]);
  expect(await shown()).toEqual([5, 1]);
});

function byText(a = '', b = ''): number {
  return a < b ? -1 : 1;
}
