/** The program of `npm start`, in a separate process: its metrics must agree with the service. */
import { expect, test } from 'vitest';
import { scrape } from '../support/exposition.ts';
import { otlpSink } from '../support/otlp-sink.ts';
import { opsd } from '../support/program.ts';
import { failedRuns, logsUntil, type LogRow, type Service } from '../support/service.ts';
import { until } from '../support/until.ts';

interface Ready {
  readonly url: string;
  readonly service: Service;
}

interface ActionRow {
  readonly action: string;
  readonly target: string;
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

test('deliveries, failures, DLQ entries, resumed runs and spans agree with the service', async () => {
  const startedAt = Date.now();
  const spans = await otlpSink();
  const demo = opsd(['demo', '--listen', '127.0.0.1:0', '--seed', '7'], {
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: spans.url },
  });
  const { url, service } = await until({ what: 'the addresses are printed', timeoutMs: 10_000 }, () =>
    demo.stdout().includes('\n') ? (JSON.parse(demo.stdout()) as Ready) : undefined,
  );
  await until(
    { what: 'first metrics of deliveries within 10 seconds', timeoutMs: 10_000 },
    async () => (await scrape(url)).sum('msgsvc_log_events_total', { state: 'DELIVERED' }) > 0,
  );

  // Every kind of event has occurred, including a resumed run with a verdict.
  await until({ what: 'a resume was verified', timeoutMs: 240_000 }, async () => {
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
  const metrics = await settledScrape(url);
  const watermark = Math.round(metrics.value('opsd_log_watermark_timestamp_seconds')! * 1_000);
  // What the demo made for the prune to find lies before.
  const rows = (await logsUntil(service, watermark)).filter(({ time }) => time >= startedAt);
  expect(rows.length).toBeGreaterThan(200);
  for (const [state, entries] of Map.groupBy(rows, (row) => row.state)) {
    expect(metrics.value('msgsvc_log_events_total', { state }), state).toBe(entries.length);
  }
  const attempts = rows.filter((row) => row.state === 'DELIVERED' || row.state === 'ERROR');
  expect(metrics.sum('msgsvc_messages_created_total')).toBe(rows.filter((row) => row.state === 'CREATED').length);
  expect(metrics.sum('msgsvc_messages_finished_total')).toBe(rows.filter(isEnd).length);
  expect(metrics.sum('msgsvc_message_failures_total')).toBe(rows.filter((row) => row.state === 'FAILED').length);
  expect(metrics.sum('msgsvc_message_attempts_total')).toBe(attempts.length);
  expect(metrics.sum('msgsvc_message_attempt_failures_total')).toBe(
    attempts.filter((row) => row.state === 'ERROR').length,
  );

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
  expect(children).toHaveLength(attempts.filter((row) => ended.has(row.messageId)).length);
  for (const child of children) expect(child.traceId).toBe(rootIds.get(child.parentSpanId)!.traceId);
  expect(children.filter((span) => span.status === 'error')).toHaveLength(
    attempts.filter((row) => row.state === 'ERROR' && ended.has(row.messageId)).length,
  );

  // Resumed runs: each action is one run with the stamp, and no entry was resumed twice.
  await until({ what: 'acts, stamped runs and the counter agree', timeoutMs: 30_000 }, async () => {
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
  await until({ what: 'the gauges show the workflow DLQ', timeoutMs: 30_000 }, async () => {
    const before = (await failedRuns(service)).length;
    const shown = (await scrape(url)).sum('msgsvc_workflow_dlq_runs');
    return before > 0 && shown === before && (await failedRuns(service)).length === before;
  });

  // A policy in approve mode has only shown its plan.
  const final = await scrape(url);
  expect(final.sum('opsd_policy_runs_total', { policy: 'resume-onboarding' })).toBeGreaterThan(0);
  expect(final.sum('opsd_action_items_total', { policy: 'resume-onboarding' })).toBe(0);

  demo.kill('SIGINT');
  expect(await demo.ended).toEqual({ code: 0, signal: null });
  expect(demo.log().filter((line) => line['level'] === 'error')).toEqual([]);
}, 240_000);

test('an address in use is reported with the option for another', async () => {
  const taken = await otlpSink();
  const demo = opsd(['demo', '--listen', new URL(taken.url).host]);
  expect(await demo.ended).toEqual({ code: 1, signal: null });
  expect(demo.stderr()).toContain('Stop that program, or change the address in --listen;');
});
