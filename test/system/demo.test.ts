/**
 * The program of `npm start`, in a separate process: its metrics and spans agree with the service, and its policies act
 * within minutes.
 */
import { expect, test } from 'vitest';
import { scrape } from '../support/exposition.ts';
import { otlpSink, type OtlpSink } from '../support/otlp-sink.ts';
import { opsd } from '../support/program.ts';
import { failedRuns, logsUntil, type LogRow, type Service } from '../support/service.ts';
import { until } from '../support/until.ts';

interface Running {
  readonly url: string;
  readonly service: Service;
  readonly socket: string;
}

interface ActionRow {
  readonly policy: string;
  readonly action: string;
  readonly target: string;
  readonly outcome?: string;
}

interface RunRow {
  readonly policy: string;
  readonly outcome: string;
  readonly acted: number;
  readonly detail?: string;
}

const isEnd = (row: LogRow): boolean =>
  row.state === 'DELIVERED' || row.state === 'FAILED' || row.state === 'CANCELLED';

/** Returns a scrape without an aggregation during it: two in a row have the same watermark. */
async function settledScrape(url: string) {
  return await until({ what: 'two scrapes with the same watermark' }, async () => {
    const [first, second] = [await scrape(url), await scrape(url)];
    const watermark = second.value('opsd_log_watermark_timestamp_seconds');
    return watermark !== undefined && first.value('opsd_log_watermark_timestamp_seconds') === watermark && second;
  });
}

test('figures agree with the service; a campaign stops and continues, a prune, an approved raise, a pending plan', async () => {
  const spans = await otlpSink();
  const startedAt = Date.now();
  // If time were faster, the outage would end before the policy runs on a busy machine.
  const demo = opsd(['demo', '--listen', '127.0.0.1:0', '--seed', '7'], {
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: spans.url },
  });
  const running = await until({ what: 'the addresses are printed' }, () =>
    demo.stdout().includes('\n') ? (JSON.parse(demo.stdout().split('\n')[0]!) as Running) : undefined,
  );
  await Promise.all([figuresAgree(running, spans, startedAt), policiesAct(running)]);
  demo.kill('SIGINT');
  expect(await demo.ended).toEqual({ code: 0, signal: null });
  expect(demo.log().filter((line) => line['level'] === 'error')).toEqual([]);
});

/** Deliveries, failures, DLQ entries, resumed runs and spans agree with the service. */
async function figuresAgree({ url, service }: Running, spans: OtlpSink, startedAt: number): Promise<void> {
  await until(
    { what: 'first metrics of deliveries' },
    async () => (await scrape(url)).sum('msgsvc_log_events_total', { state: 'DELIVERED' }) > 0,
  );

  // Every kind of event has occurred, including a resumed run with a verdict.
  await until({ what: 'a resume was verified' }, async () => {
    const metrics = await scrape(url);
    return (
      metrics.sum('msgsvc_message_failures_total') > 0 &&
      metrics.sum('msgsvc_message_attempt_failures_total', { code: '503' }) > 0 &&
      metrics.sum('msgsvc_workflow_dlq_runs') > 0 &&
      (metrics.value('msgsvc_account_dlq_messages') ?? 0) > 0 &&
      metrics.sum('opsd_action_outcomes_total', { policy: 'resume-billing', outcome: 'verified' }) > 0
    );
  });

  // Counters: all entries up to the watermark, each once.
  const { metrics, rows } = await until({ what: 'more than 200 counted entries' }, async () => {
    const settled = await settledScrape(url);
    const watermark = Math.round(settled.value('opsd_log_watermark_timestamp_seconds')! * 1_000);
    // What the demo made for the prune to find lies before.
    const counted = (await logsUntil(service, watermark)).filter(({ time }) => time >= startedAt);
    return counted.length > 200 && { metrics: settled, rows: counted };
  });
  for (const [state, entries] of Map.groupBy(rows, (row) => row.state)) {
    expect(metrics.value('msgsvc_log_events_total', { state }), state).toBe(entries.length);
  }
  // Messages of the canary and their callbacks count by state only.
  const isOther = ({ url: to }: LogRow): boolean => !to.includes('/hooks/canary/');
  const others = rows.filter(isOther);
  expect(others.length).toBeLessThan(rows.length);
  const everyAttempt = rows.filter((row) => row.state === 'DELIVERED' || row.state === 'ERROR');
  const attempts = everyAttempt.filter(isOther);
  expect(metrics.sum('msgsvc_messages_created_total')).toBe(others.filter((row) => row.state === 'CREATED').length);
  expect(metrics.sum('msgsvc_messages_finished_total')).toBe(others.filter(isEnd).length);
  expect(metrics.sum('msgsvc_message_failures_total')).toBe(others.filter((row) => row.state === 'FAILED').length);
  expect(metrics.sum('msgsvc_message_attempts_total')).toBe(attempts.length);
  expect(metrics.sum('msgsvc_message_attempt_failures_total')).toBe(
    attempts.filter((row) => row.state === 'ERROR').length,
  );
  expect(metrics.value('msgsvc_canary_verdict_info', { account: 'shop', canary: 'home', verdict: 'ok' })).toBe(1);
  const { canaries } = (await (await fetch(`${url}/api/v1/canaries`)).json()) as { canaries: readonly object[] };
  expect(canaries).toMatchObject([{ canary: 'home', verdict: 'ok' }]);

  // Spans: one root for each message that ended, one child for each of its attempts.
  const ended = new Set(rows.filter(isEnd).map((row) => row.messageId));
  const roots = () => spans.spans.filter((span) => span.name.startsWith('deliver '));
  const messageOf = (span: (typeof spans.spans)[number]) => String(span.attributes['messaging.message.id']);
  await until({ what: 'every ended message has its trace' }, () => {
    const traced = new Set(roots().map(messageOf));
    return ended.isSubsetOf(traced);
  });
  const ofEnded = roots().filter((span) => ended.has(messageOf(span)));
  expect(ofEnded).toHaveLength(ended.size);
  const rootIds = new Map(ofEnded.map((span) => [span.spanId, span]));
  const children = spans.spans.filter((span) => span.kind === 'client' && rootIds.has(span.parentSpanId));
  expect(children).toHaveLength(everyAttempt.filter((row) => ended.has(row.messageId)).length);
  for (const child of children) expect(child.traceId).toBe(rootIds.get(child.parentSpanId)!.traceId);
  expect(children.filter((span) => span.status === 'error')).toHaveLength(
    everyAttempt.filter((row) => row.state === 'ERROR' && ended.has(row.messageId)).length,
  );

  // Resumed runs: each action is one run with the stamp, and no entry was resumed twice.
  await until({ what: 'acts, stamped runs and the counter agree' }, async () => {
    const { actions } = (await (await fetch(`${url}/api/v1/actions`)).json()) as { actions: readonly ActionRow[] };
    const resumed = actions.filter(({ action }) => action === 'workflow-dlq.resume');
    expect(new Set(resumed.map(({ target }) => target)).size).toBe(resumed.length);
    const stamped = new Set(
      (await logsUntil(service, Date.now()))
        .filter((row) => row.labels?.some((label) => label.startsWith('opsd:')))
        .map((row) => row.messageId),
    );
    // Policies continue in the meantime: nothing must have been done between two reads.
    const counted = (await scrape(url)).sum('opsd_action_items_total', { action: 'workflow-dlq.resume' });
    return resumed.length > 0 && stamped.size === counted && resumed.length === counted;
  });

  // The present DLQ: between two equal listings the gauges must have equal values.
  await until({ what: 'the gauges show the workflow DLQ' }, async () => {
    const before = (await failedRuns(service)).length;
    const shown = (await scrape(url)).sum('msgsvc_workflow_dlq_runs');
    return before > 0 && shown === before && (await failedRuns(service)).length === before;
  });

  // A policy in approve mode has only shown its plan.
  const final = await scrape(url);
  expect(final.sum('opsd_policy_runs_total', { policy: 'resume-onboarding' })).toBeGreaterThan(0);
  expect(final.sum('opsd_action_items_total', { policy: 'resume-onboarding' })).toBe(0);
}

/** The policies of the demo do what they are for. */
async function policiesAct({ url, socket }: Running): Promise<void> {
  const ask = async <T>(path: string): Promise<T> => (await (await fetch(`${url}/api/v1/${path}`)).json()) as T;
  const actionsOf = async (policy: string): Promise<readonly ActionRow[]> =>
    (await ask<{ actions: readonly ActionRow[] }>('actions?limit=500')).actions.filter((row) => row.policy === policy);
  const runsOf = async (policy: string): Promise<readonly RunRow[]> =>
    (await ask<{ runs: readonly RunRow[] }>(`runs?policy=${policy}&limit=100`)).runs.filter(
      (row) => row.policy === policy,
    );
  const repaired = async (): Promise<number> =>
    (await actionsOf('resume-billing')).filter(({ outcome }) => outcome === 'verified').length;
  const active = async (): Promise<readonly string[]> =>
    (await ask<{ conditions: readonly { key: string }[] }>('conditions')).conditions.map(({ key }) => key);

  /** A step that meets an outage halts the campaign. If the log shows the outage first, no step is sent. */
  const isStopped = async (): Promise<boolean> =>
    (await active()).some((key) => key.startsWith('halted/resume-billing/') || key === 'held/resume-billing');

  async function campaignStopsAndContinues(): Promise<void> {
    await until({ what: 'the campaign stopped, because its destination fails' }, isStopped);
    await until({ what: 'the campaign continued when it delivered again' }, async () => {
      return !(await isStopped()) && (await repaired()) > 0;
    });
  }

  async function plansAndPrunes(): Promise<void> {
    await until({ what: 'a plan waits for an operator' }, async () =>
      (await active()).includes('approval/resume-onboarding'),
    );

    await until({ what: 'a prune deleted mails' }, async () =>
      (await actionsOf('prune-old-mail')).some(({ outcome }) => outcome === 'verified'),
    );
    // Its first runs were in audit.
    const prunes = (await runsOf('prune-old-mail')).toReversed();
    expect(prunes.slice(0, 2).map(({ acted, detail }) => [acted, detail?.includes('probation')])).toEqual([
      [0, true],
      [0, true],
    ]);

    // The store was created on the day of the budget's assertion.
    const { id } = await until({ what: 'a raise waits for an operator' }, async () =>
      (await ask<{ plans: readonly { id: string; policy: string }[] }>('plans?state=pending')).plans.find(
        ({ policy }) => policy === 'raise-budget',
      ),
    );
    expect(await opsd(['approve', id, '--yes', '--socket', socket]).ended).toMatchObject({ code: 0 });
    const raise = await until({ what: 'the budget was raised' }, async () =>
      (await actionsOf('raise-budget')).find(({ outcome }) => outcome === 'verified'),
    );
    // 20 % more would be 180.
    expect(raise.target).toMatch(/^budget\/\d+\/170$/);
  }

  await Promise.all([campaignStopsAndContinues(), plansAndPrunes()]);

  // Nothing was approved, and nothing exceeds the ceiling.
  expect(await actionsOf('resume-onboarding')).toEqual([]);
  expect(await actionsOf('raise-budget')).toHaveLength(1);
}

test('an address in use is reported with the option for another', async () => {
  const taken = await otlpSink();
  const demo = opsd(['demo', '--listen', new URL(taken.url).host]);
  expect(await demo.ended).toEqual({ code: 1, signal: null });
  expect(demo.stderr()).toContain('Stop that program, or change the address in --listen;');
});
