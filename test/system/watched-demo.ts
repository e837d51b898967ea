/** The demo with a real Prometheus that scrapes it, days of history, and the shipped rules. It ends with the test. */
import { join } from 'node:path';
import { RULE_FILES } from '../../deploy/prometheus/render.ts';
import { otlpSink } from '../support/otlp-sink.ts';
import { writePast } from '../support/past.ts';
import { prometheus } from '../support/prometheus.ts';
import { clockedOpsd } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

export const RULE_PATHS = RULE_FILES.map((path) => join(import.meta.dirname, '../..', path));
const DAYS = 8;

export async function watchedDemo(
  programs: { readonly prometheus: string; readonly promtool: string },
  { seed, speed }: { readonly seed: number; readonly speed: number },
) {
  const spans = await otlpSink();
  const time = { speed, since: Date.now() };
  const demo = clockedOpsd(time, ['demo', '--listen', '127.0.0.1:0', '--seed', String(seed)], {
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: spans.url },
  });
  const url = String((await demo.logged('daemon running'))['url']);
  const liveSince = Date.now() / 1_000;
  const watch = { jobs: { opsd: url }, scrapeSeconds: 5, ruleFiles: RULE_PATHS, data: tempDir() };
  const first = await prometheus(programs.prometheus, watch);
  // Every source was read, and something of what is sent has happened: the past is of the same.
  const text = await until({ what: 'the demo shows what it reads' }, async () => {
    const page = await (await fetch(`${url}/metrics`)).text();
    return /^msgsvc_vector_index_queries_total/m.test(page) && /^msgsvc_message_failures_total/m.test(page) && page;
  });
  const labels = { job: 'opsd', instance: new URL(url).host };
  const past = { days: DAYS, now: Date.now() / 1_000, liveSince, labels };
  await writePast({ promtool: programs.promtool, folder: watch.data, text }, past);
  // Prometheus loads blocks at its start.
  await first.stop();
  const watching = await prometheus(programs.prometheus, watch);
  // Data since then was scraped, older data is generated.
  return { url, prometheus: watching, liveSince };
}
