import { describe, expect, test } from 'vitest';
import { event } from '../../support/events.ts';
import { dlqRow, NOW, publishEverything, seriesOf, world } from './world.ts';

const KEY = '{account="prod",flow_control_key="billing"}';

describe('gauges of a collector', () => {
  test('show its latest batch as a whole: departed items are absent', async () => {
    const { publish, scrape } = await world();
    publish('flowControl', [
      { flowControlKey: 'billing', waitListSize: 3, parallelismMax: 5 },
      { flowControlKey: 'email', waitListSize: 1 },
    ]);
    expect(seriesOf(await scrape(), 'msgsvc_flow_control_waitlist_messages')).toEqual({
      [`msgsvc_flow_control_waitlist_messages${KEY}`]: 3,
      'msgsvc_flow_control_waitlist_messages{account="prod",flow_control_key="email"}': 1,
    });
    publish('flowControl', [{ flowControlKey: 'billing', waitListSize: 9 }]);
    const samples = await scrape();
    expect(seriesOf(samples, 'msgsvc_flow_control_waitlist_messages')).toEqual({
      [`msgsvc_flow_control_waitlist_messages${KEY}`]: 9,
    });
    expect(seriesOf(samples, 'msgsvc_flow_control_parallelism_limit')).toEqual({});
  });

  test('are withheld while stale, come back with the next batch, and counters stay', async () => {
    const { publish, scrape, clock, events } = await world();
    const stale = 'opsd_collector_stale{account="prod",collector="flowControl"}';
    const waitlist = `msgsvc_flow_control_waitlist_messages${KEY}`;
    const runs = 'opsd_collector_runs_total{account="prod",collector="flowControl"}';
    const publishOne = (): void => {
      publish('flowControl', [{ flowControlKey: 'billing', waitListSize: 3 }]);
      events.emit(event('collector.finished', { collector: 'flowControl' }));
    };
    expect((await scrape()).get(stale)).toBe(1);
    publishOne();
    const fresh = await scrape();
    expect([fresh.get(stale), fresh.get(waitlist)]).toEqual([0, 3]);
    await clock.advance(180_000);
    expect((await scrape()).get(waitlist)).toBe(3);
    await clock.advance(1);
    const old = await scrape();
    expect([old.get(stale), old.get(waitlist), old.get(runs)]).toEqual([1, undefined, 1]);
    publishOne();
    const again = await scrape();
    expect([again.get(stale), again.get(waitlist), again.get(runs)]).toEqual([0, 3, 2]);
  });

  test('of one account do not affect those of another', async () => {
    const accounts = ['a', 'b'].map((name) => ({ name, apis: ['message' as const], requestsPerDay: 10 }));
    const { publish, scrape, clock } = await world({ accounts });
    publish('urlGroups', [], 'a');
    await clock.advance(120_000);
    publish('urlGroups', [{ name: 'g', endpoints: [] }], 'b');
    await clock.advance(120_000);
    expect(seriesOf(await scrape(), 'msgsvc_url_groups')).toEqual({ 'msgsvc_url_groups{account="b"}': 1 });
  });

  test('reject and count invalid values, and keep the rest', async () => {
    const { publish, scrape } = await world();
    publish('flowControl', [
      { flowControlKey: 'billing', waitListSize: -1, parallelismCount: NaN, ratePeriodStart: 86_400_000, rateCount: 4 },
    ]);
    const refused = 'opsd_invalid_values_total{source="flowControl"}';
    expect((await scrape()).get(refused)).toBe(3);
    const samples = await scrape();
    expect(samples.get(refused)).toBe(3);
    expect(samples.get(`msgsvc_flow_control_rate_used_messages${KEY}`)).toBe(4);
    expect(seriesOf(samples, 'msgsvc_flow_control_waitlist_messages')).toEqual({});
    expect(seriesOf(samples, 'msgsvc_flow_control_rate_period_start_timestamp_seconds')).toEqual({});
  });

  test('show +Inf for unlimited, nothing for a zero time, 1 or 0 for booleans', async () => {
    const { publish, scrape } = await world();
    publish('searchIndexes', [
      {
        index: 'idx-1',
        name: 'n',
        plan: 'free',
        region: 'eu',
        maxDailyQueries: Infinity,
        createdAt: 0,
        inputEnrichmentEnabled: false,
      },
    ]);
    const samples = await scrape();
    const INDEX = '{account="prod",index="idx-1"}';
    expect(samples.get(`msgsvc_search_index_limit_day_queries${INDEX}`)).toBe(Infinity);
    expect(samples.get(`msgsvc_search_index_input_enrichment_enabled${INDEX}`)).toBe(0);
    expect(seriesOf(samples, 'msgsvc_search_index_created_timestamp_seconds')).toEqual({});
    expect(samples.get('opsd_invalid_values_total{source="searchIndexes"}')).toBe(0);
  });

  test('are computed once per batch, not at each scrape', async () => {
    const { publish, scrape } = await world();
    let reads = 0;
    const row = {
      flowControlKey: 'billing',
      get waitListSize(): number {
        reads += 1;
        return 3;
      },
    };
    publish('flowControl', [row]);
    await scrape();
    await scrape();
    expect(reads).toBe(1);
  });
});

describe('a scrape', () => {
  test('survives a source that throws: its gauges are withheld and it is counted, the rest is served', async () => {
    const facts = () => Promise.reject(new Error('the store is broken'));
    const { publish, scrape } = await world({ facts });
    publish('urlGroups', [{ name: 'g', endpoints: [] }]);
    publish('flowControl', [{ flowControlKey: 'billing', waitListSize: 3 }]);
    await scrape();
    const broken = {
      flowControlKey: 'email',
      get waitListSize(): number {
        throw new Error('broken row');
      },
    };
    publish('flowControl', [{ flowControlKey: 'billing', waitListSize: 3 }, broken]);
    await scrape();
    const samples = await scrape();
    expect(seriesOf(samples, 'msgsvc_flow_control_waitlist_messages')).toEqual({});
    expect(samples.get('msgsvc_url_groups{account="prod"}')).toBe(1);
    expect(samples.get('opsd_projection_failures_total{source="flowControl"}')).toBe(1);
    for (const source of ['policies', 'ledger']) {
      expect(samples.get(`opsd_projection_failures_total{source="${source}"}`)).toBeGreaterThan(1);
    }
    expect(samples.get('opsd_projection_failures_total{source="urlGroups"}')).toBe(0);
  });

  test('escapes the content of labels', async () => {
    const { publish, text } = await world();
    publish('urlGroups', [{ name: 'a"b\\c\nd', endpoints: [] }]);
    expect(await text()).toContain('msgsvc_url_group_endpoints{account="prod",url_group="a\\"b\\\\c d"} 0\n');
  });

  test('is the same text for concurrent scrapers', async () => {
    const everything = await world({ metrics: { latencyUnit: 's' } });
    publishEverything(everything);
    await everything.text();
    const texts = await Promise.all(Array.from({ length: 5 }, () => everything.text()));
    const stable = texts.map((text) => text.replaceAll(/^(process|nodejs)_.*$/gm, ''));
    expect(new Set(stable).size).toBe(1);
    expect(stable[0]).not.toMatch(/nan/i);
    expect((await everything.metrics.render('text')).contentType).toBe('text/plain; version=0.0.4; charset=utf-8');
  });

  test('after the end of subscriptions counts no further events', async () => {
    const { metrics, events, scrape } = await world();
    metrics[Symbol.dispose]();
    events.emit({ type: 'deliveries.failing', reason: 'ENOSPC' });
    expect((await scrape()).get('opsd_delivery_events_write_failures_total')).toBe(0);
  });
});

describe('the workflow DLQ', () => {
  test('is counted by workflow, cause, failure function and age, without ids or labels of runs', async () => {
    const { publish, text, scrape } = await world();
    const hour = 3_600_000;
    publish('workflowDlq', [
      dlqRow('a', { responseStatus: 503, failureFunctionState: 'CALLBACK_FAIL', labels: ['opsd:i:l:1', 'team-a'] }),
      dlqRow('b', {
        responseStatus: 500,
        workflowUrl: 'https://app.example/workflows/order?run=1',
        createdAt: NOW - 2 * hour,
      }),
      dlqRow('c', {
        responseText: 'connect ECONNREFUSED',
        createdAt: NOW - 30 * hour,
        failureFunctionState: 'NEW_STATE',
      }),
      dlqRow('d', {
        workflowUrl: 'https://app.example/users/42',
        createdAt: NOW - 200 * hour,
        flowControlKey: 'billing',
      }),
    ]);
    const samples = await scrape();
    const order = 'account="prod",workflow="app.example/workflows/order"';
    const users = 'account="prod",workflow="app.example/users/:id"';
    expect(seriesOf(samples, 'msgsvc_workflow_dlq_runs')).toEqual({
      [`msgsvc_workflow_dlq_runs{${order},reason="http"}`]: 2,
      [`msgsvc_workflow_dlq_runs{${order},reason="connection"}`]: 1,
      [`msgsvc_workflow_dlq_runs{${users},reason="no_response"}`]: 1,
    });
    expect(seriesOf(samples, 'msgsvc_workflow_dlq_failure_function_runs')).toEqual({
      [`msgsvc_workflow_dlq_failure_function_runs{${order},state="CALLBACK_FAIL"}`]: 1,
      [`msgsvc_workflow_dlq_failure_function_runs{${order},state="none"}`]: 1,
      [`msgsvc_workflow_dlq_failure_function_runs{${order},state="other"}`]: 1,
      [`msgsvc_workflow_dlq_failure_function_runs{${users},state="none"}`]: 1,
    });
    expect(Object.values(seriesOf(samples, 'msgsvc_workflow_dlq_aged_runs'))).toEqual([0, 1, 1, 0, 1, 1]);
    expect(seriesOf(samples, 'msgsvc_workflow_dlq_oldest_run_timestamp_seconds')).toEqual({
      [`msgsvc_workflow_dlq_oldest_run_timestamp_seconds{${order}}`]: (NOW - 30 * hour) / 1_000,
      [`msgsvc_workflow_dlq_oldest_run_timestamp_seconds{${users}}`]: (NOW - 200 * hour) / 1_000,
    });
    expect(samples.get('msgsvc_workflow_dlq_flow_control_runs{account="prod",flow_control_key="billing"}')).toBe(1);
    expect(await text()).not.toMatch(/opsd:i:l|team-a|wfr-|ECONNREFUSED/);
  });

  test('shows the newest run, the last status, and the expirations within a day and three', async () => {
    const { publish, scrape } = await world();
    const day = 86_400_000;
    // Kept for seven days.
    publish('workflowDlq', [
      dlqRow('a', { createdAt: NOW - 6.5 * day, responseStatus: 503 }),
      dlqRow('b', { createdAt: NOW - 4.5 * day }),
      dlqRow('c', { createdAt: NOW - day, responseStatus: 503 }),
    ]);
    const samples = await scrape();
    const order = 'account="prod",workflow="app.example/workflows/order"';
    expect(seriesOf(samples, 'msgsvc_workflow_dlq_expiring_runs')).toEqual({
      [`msgsvc_workflow_dlq_expiring_runs{${order},within="24h"}`]: 1,
      [`msgsvc_workflow_dlq_expiring_runs{${order},within="72h"}`]: 2,
    });
    expect(samples.get(`msgsvc_workflow_dlq_newest_run_timestamp_seconds{${order}}`)).toBe((NOW - day) / 1_000);
    expect(seriesOf(samples, 'msgsvc_workflow_dlq_status_runs')).toEqual({
      'msgsvc_workflow_dlq_status_runs{account="prod",code="503"}': 2,
      'msgsvc_workflow_dlq_status_runs{account="prod",code="none"}': 1,
    });
    const accounts = [{ name: 'prod', apis: ['message'] as const, requestsPerDay: 1 }];
    const unknown = await world({ accounts });
    unknown.publish('workflowDlq', [dlqRow('a')]);
    expect(seriesOf(await unknown.scrape(), 'msgsvc_workflow_dlq_expiring_runs')).toEqual({});
  });

  test('includes rows that could not be parsed in its sums', async () => {
    const { board, clock, scrape } = await world();
    const rows = [dlqRow('a')];
    board.publish({ account: 'prod', collector: 'workflowDlq', rows, at: clock.now(), dropped: 3 }, 25);
    const samples = await scrape();
    const sum = (metric: string) => Object.values(seriesOf(samples, metric)).reduce((a, b) => a + b, 0);
    expect([sum('msgsvc_workflow_dlq_runs'), sum('msgsvc_workflow_dlq_aged_runs')]).toEqual([4, 4]);
    expect(samples.get('msgsvc_workflow_dlq_aged_runs{account="prod",age="unknown"}')).toBe(3);
  });

  test("is counted by label if configured: once for each, without the daemon's marks", async () => {
    const { publish, scrape } = await world({ metrics: { workflowDlqLabels: true } });
    publish('workflowDlq', [
      dlqRow('a', { labels: ['vip', 'eu', 'vip'] }),
      dlqRow('b', { labels: ['eu', 'opsd:i:l:1'] }),
    ]);
    expect(seriesOf(await scrape(), 'msgsvc_workflow_dlq_labeled_runs')).toEqual({
      'msgsvc_workflow_dlq_labeled_runs{account="prod",label="eu"}': 2,
      'msgsvc_workflow_dlq_labeled_runs{account="prod",label="vip"}': 1,
    });
  });

  test('beyond the limit of workflows, runs add up as other and the oldest of them counts', async () => {
    const { publish, scrape } = await world({ metrics: { labels: { workflow: { max: 1 } } } });
    publish('workflowDlq', [
      dlqRow('a'),
      dlqRow('b', { workflowUrl: 'https://b.example/x', createdAt: NOW - 5_000 }),
      dlqRow('c', { workflowUrl: 'https://c.example/x', createdAt: NOW - 9_000 }),
      dlqRow('d', { workflowUrl: 'https://c.example/x', createdAt: NOW - 7_000 }),
    ]);
    await scrape();
    const samples = await scrape();
    const other = 'account="prod",workflow="other"';
    expect(samples.get(`msgsvc_workflow_dlq_runs{${other},reason="no_response"}`)).toBe(3);
    expect(samples.get(`msgsvc_workflow_dlq_oldest_run_timestamp_seconds{${other}}`)).toBe((NOW - 9_000) / 1_000);
    expect(samples.get('opsd_label_values_overflowed_total{label="workflow"}')).toBe(2);
  });

  test('an absent cause stays at 0 for a day; an empty DLQ has zeroes, not no series', async () => {
    const { publish, scrape, clock } = await world();
    const runs = 'msgsvc_workflow_dlq_runs{account="prod",workflow="app.example/workflows/order",reason="http"}';
    publish('workflowDlq', [dlqRow('a', { responseStatus: 503 })]);
    expect((await scrape()).get(runs)).toBe(1);
    publish('workflowDlq', []);
    const empty = await scrape();
    expect(empty.get(runs)).toBe(0);
    expect(Object.values(seriesOf(empty, 'msgsvc_workflow_dlq_aged_runs'))).toEqual([0, 0, 0, 0, 0, 0]);
    await clock.advance(200_000);
    expect((await scrape()).get(runs)).toBeUndefined();
    await clock.advance(86_400_000);
    publish('workflowDlq', []);
    expect((await scrape()).get(runs)).toBeUndefined();
  });
});

describe('URL groups', () => {
  test('are not counted where a part of the answer could not be parsed', async () => {
    const { board, clock, scrape } = await world();
    const rows = [{ name: 'g', updatedAt: clock.now(), endpoints: [{ url: 'https://a.example' }] }];
    const batch = { account: 'prod', collector: 'urlGroups', rows, at: clock.now() } as const;
    board.publish({ ...batch, dropped: 1 }, 25);
    const partial = await scrape();
    expect(seriesOf(partial, 'msgsvc_url_groups')).toEqual({});
    expect(seriesOf(partial, 'msgsvc_url_group_endpoints')).toEqual({});
    expect(Object.keys(seriesOf(partial, 'msgsvc_url_group_updated_timestamp_seconds'))).toHaveLength(1);
    board.publish({ ...batch, dropped: 0 }, 25);
    expect((await scrape()).get('msgsvc_url_groups{account="prod"}')).toBe(1);
  });
});

describe('statistics', () => {
  test('of the day are picked by date, whatever else the month’s arrays hold', async () => {
    const { publish, scrape } = await world();
    const day = 86_400_000;
    const midnight = Date.UTC(2026, 4, 4);
    const points = [
      { at: midnight - day, value: 1 },
      { at: midnight, value: 2 },
      { at: midnight + day, value: 3 },
    ];
    publish('accountStats', [
      { dailyBillings: points, dailyRequests: [{ ...points[1]!, workflowMessages: 7 }], dailyBandwidths: [points[0]!] },
    ]);
    const samples = await scrape();
    expect(samples.get('msgsvc_account_day_billing_dollars{account="prod"}')).toBe(2);
    expect(samples.get('msgsvc_account_day_requests{account="prod"}')).toBe(2);
    expect(samples.get('msgsvc_account_day_workflow_messages{account="prod"}')).toBe(7);
    expect(seriesOf(samples, 'msgsvc_account_day_bandwidth_bytes')).toEqual({});
    expect(seriesOf(samples, 'msgsvc_account_dlq_messages')).toEqual({});
  });

  test('that disagree show the difference, and whether it exceeds chance', async () => {
    const { publish, scrape } = await world();
    const hour = { hour: NOW, statistics: 9, agrees: false };
    publish('accountStats', [
      {
        pointsCheck: {
          at: NOW,
          sources: [
            { source: 'used', points: 600, day: 10, isWrong: true },
            { source: 'bandwidth', points: 9, day: 10, isWrong: false },
          ],
        },
        reconciled: [
          { ...hour, state: 'DELIVERED', logs: 0, isLasting: true },
          { ...hour, state: 'ERROR', logs: 10, isLasting: false },
        ],
      },
    ]);
    const samples = await scrape();
    expect(samples.get('opsd_stats_points_day_ratio{account="prod",source="used"}')).toBe(60);
    expect(Object.values(seriesOf(samples, 'opsd_stats_points_misread'))).toEqual([1, 0]);
    expect(Object.values(seriesOf(samples, 'opsd_reconciliation_ratio'))).toEqual([Infinity, 0.9]);
    expect(Object.values(seriesOf(samples, 'opsd_reconciliation_gap'))).toEqual([1, 0]);
  });

  const latency = {
    index: 'vec-1',
    latencyMean: {
      query: [
        { at: NOW - 240_000, value: 20 },
        { at: NOW - 181_000, value: 30 },
        { at: NOW - 60_000, value: 99 },
      ],
    },
    latencyP99: {},
    throughput: {},
  };
  const mean = 'msgsvc_vector_index_latency_mean_seconds{account="prod",index="vec-1",operation="query"}';

  test('of latency are the newest settled point, in seconds', async () => {
    const { publish, scrape } = await world({ metrics: { latencyUnit: 'ms' } });
    publish('vectorStats', [latency]);
    expect((await scrape()).get(mean)).toBeCloseTo(0.03);
  });

  test('of latency are withheld until their unit is known', async () => {
    const { publish, scrape } = await world();
    publish('vectorStats', [latency]);
    expect((await scrape()).has(mean)).toBe(false);
  });
});
