/**
 * Counters continue in a daemon that replaces another in the same process: each once, without those that are counted
 * elsewhere.
 */
import { expect, test } from 'vitest';
import { event } from '../../support/events.ts';
import { seriesOf, world } from './world.ts';

const REQUEST = event('api.request');

const COUNTED = [
  'opsd_api_requests_total',
  'opsd_api_request_duration_seconds_bucket',
  'opsd_api_request_duration_seconds_count',
  'opsd_api_request_duration_seconds_sum',
] as const;

test('counters and histograms continue with their values and their creation time', async () => {
  const before = await world();
  for (let requests = 0; requests < 3; requests++) before.events.emit(REQUEST);
  const stood = await before.scrape();
  const handed = before.metrics.handOver();
  const after = await world({ totals: before.totals, deps: { handed } });
  const now = await after.scrape();
  for (const name of COUNTED) expect(seriesOf(now, name), name).toEqual(seriesOf(stood, name));
  after.events.emit(REQUEST);
  expect(seriesOf(await after.scrape(), 'opsd_api_requests_total')).toMatchObject({
    'opsd_api_requests_total{account="prod",api="message",operation="list-logs",code="200"}': 4,
  });
  // The handed values are unchanged, because a further daemon may receive them.
  expect(seriesOf(await (await world({ deps: { handed } })).scrape(), 'opsd_api_requests_total')).toEqual(
    seriesOf(stood, 'opsd_api_requests_total'),
  );
  const created = (text: string) => text.split('\n').filter((line) => line.startsWith('opsd_api_requests_created'));
  expect(created(await after.text('openmetrics'))).toEqual(created(await before.text('openmetrics')));
});

test('values of the store, of the process and of a removed account are not handed', async () => {
  const logLines = (): ReadonlyMap<string, number> => new Map([['info', 5]]);
  const before = await world({
    stored: [{ metric: 'msgsvc_log_events_total', labels: ['DELIVERED'], by: 7 }],
    deps: { logLines },
  });
  before.events.emit(REQUEST);
  await before.scrape();
  const handed = before.metrics.handOver();
  const same = await (await world({ totals: before.totals, deps: { logLines, handed } })).scrape();
  expect(same.get('msgsvc_log_events_total{account="prod",state="DELIVERED"}')).toBe(7);
  expect(same.get('opsd_log_messages_total{level="info"}')).toBe(5);
  // Not counted again on top of the handed value.
  expect(same.get('process_cpu_seconds_total')).toBeLessThanOrEqual(
    (process.cpuUsage().user + process.cpuUsage().system) / 1e6,
  );
  const other = await (
    await world({
      accounts: [{ name: 'other', apis: ['message'], requestsPerDay: 1 }],
      deps: { handed },
    })
  ).scrape();
  expect([...other.keys()].filter((series) => series.includes('account="prod"'))).toEqual([]);
});

test('records of the audit log that came after the last scrape are handed too', async () => {
  let records = 2;
  const before = await world({ deps: { audit: () => ({ records, failures: 1 }) } });
  await before.scrape();
  records = 7;
  const handed = before.metrics.handOver();
  const after = await (await world({ deps: { audit: () => ({ records: 1, failures: 0 }), handed } })).scrape();
  expect(after.get('opsd_audit_records_total')).toBe(8);
  expect(after.get('opsd_audit_write_errors_total')).toBe(1);
});
