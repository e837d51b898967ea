/** A real Prometheus scrapes the daemon and answers queries about it. */
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { otlpSink } from '../support/otlp-sink.ts';
import { installed, opsd } from '../support/program.ts';
import { prometheus } from '../support/prometheus.ts';
import { until } from '../support/until.ts';

/** Forwards scrapes as a client that knows only the older text format. Ends with the test. */
async function olderScraper(url: string): Promise<string> {
  const server = createHttpServer((_request, response) => {
    fetch(`${url}/metrics`, { headers: { Accept: 'text/plain;version=0.0.4' } })
      .then(async (answer) => {
        response.writeHead(answer.status, { 'Content-Type': answer.headers.get('content-type')! });
        response.end(await answer.text());
      })
      .catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('Prometheus scrapes the demo and knows its deliveries', async ({ skip }) => {
  const program = installed('prometheus');
  if (program === undefined) skip('prometheus is not installed');
  const demo = opsd(['demo', '--listen', '127.0.0.1:0', '--seed', '3']);
  const url = String((await demo.logged('daemon running'))['url']);
  const { value, targets, stop } = await prometheus(program!, { jobs: { opsd: url } });

  await until({ what: 'the target is up' }, async () => (await value('up{job="opsd"}')) === 1);
  await until(
    { what: 'deliveries have increased' },
    async () => (await value('sum(increase(msgsvc_log_events_total{account="shop",state="DELIVERED"}[20s]))')) > 0,
  );
  expect(await value('min(msgsvc_up{account="shop"})')).toBe(1);
  expect(await value('count(opsd_collector_success == 1)')).toBe(7);
  // Prometheus requests OpenMetrics, where counters and histograms have their creation times.
  await until({ what: 'every sample was taken' }, async () => {
    const openMetrics = await fetch(`${url}/metrics`, { headers: { Accept: 'application/openmetrics-text' } });
    const samples = (await openMetrics.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    return (await value('scrape_samples_scraped{job="opsd"}')) === samples.length;
  });
  expect(await targets()).toMatchObject([{ health: 'up', lastError: '' }]);
  await stop();
  await demo.stop();
});

test('Prometheus parses either format as the same series, and exemplars lead to the spans of deliveries', async ({
  skip,
}) => {
  const program = installed('prometheus');
  if (program === undefined) skip('prometheus is not installed');
  const sink = await otlpSink();
  const demo = opsd(['demo', '--listen', '127.0.0.1:0', '--seed', '5'], {
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: sink.url },
  });
  const url = String((await demo.logged('daemon running'))['url']);
  const jobs = { openmetrics: url, text: await olderScraper(url) };
  const { instant, exemplars, targets, stop } = await prometheus(program!, { jobs });

  const delivered = 'msgsvc_message_delivery_duration_seconds_bucket';
  const asked = 'opsd_api_request_duration_seconds_bucket';
  for (const [buckets, name] of [[delivered, /^deliver /] as const, [asked, /^(poll|policy|action) /] as const]) {
    const led = await until({ what: `exemplars of ${buckets} whose spans have come` }, async () => {
      const found = (await exemplars(buckets)).flatMap((series) => series.exemplars);
      const spans = new Map(sink.spans.map((span) => [span.spanId, span]));
      const known = found.map(({ labels }) => ({ labels, span: spans.get(labels['span_id']!) }));
      const come = known.filter(({ span }) => span !== undefined);
      return come.length >= 3 ? come : undefined;
    });
    for (const { labels, span } of led) {
      expect(Object.keys(labels).sort()).toEqual(['span_id', 'trace_id']);
      expect(span?.traceId).toBe(labels['trace_id']);
      expect(span?.name).toMatch(name);
    }
  }
  expect((await exemplars(`${delivered}{job="text"}`)).flatMap((series) => series.exemplars)).toEqual([]);

  // A new series appears in one of them first.
  await until({ what: 'both formats give the same series' }, async () => {
    const names = async (job: string) => {
      const all = await instant(`count by (__name__) ({job="${job}",__name__!~"scrape_.*|up|.*_created"})`);
      return Object.fromEntries(all.map(({ metric, points }) => [metric['__name__'], points[0]![1]]));
    };
    const [openMetrics, text] = [await names('openmetrics'), await names('text')];
    return Object.keys(text).length > 100 && JSON.stringify(openMetrics) === JSON.stringify(text);
  });
  const created = await instant('count by (job) ({__name__=~"(msgsvc|opsd)_.*_created"})');
  expect(created.map(({ metric }) => metric['job'])).toEqual(['openmetrics']);
  const both = await targets();
  expect(both.map(({ health, lastError }) => [health, lastError])).toEqual([
    ['up', ''],
    ['up', ''],
  ]);
  await stop();
  await demo.stop();
});
