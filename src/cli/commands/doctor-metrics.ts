/** Checks that the daemon's metrics can be scraped, and that a Prometheus does so. */
import { isRecord, jsonOf, recordsOf } from '#foundation/domain/json.ts';
import { formatCount } from '#foundation/domain/counted.ts';
import type { Config } from '#config/config.ts';
import type { CliIo } from '../command.ts';
import { exchangeText } from '../daemon-exchange.ts';
import { finding, ok, reach, skippedCheck, type Check, type CheckResult, type Reached } from './doctor-check.ts';
import type { Running } from './doctor-daemon.ts';
import { localHost } from './doctor-webhooks.ts';

const SAMPLE = /^[a-zA-Z_:][\w:]*(?:\{.*\})? (?:[+-]?Inf|NaN|[+-]?\d[\d.eE+-]*)(?: -?\d+)?$/;

/** Reads the metrics over the connection of the commands, and over the address for Prometheus. */
export async function checkScrape({ call }: Running, config: Config | undefined, io: CliIo): Promise<readonly Check[]> {
  const own = metricsCheck(await exchangeText(call, { method: 'GET', path: '/metrics' }));
  const checks: readonly Check[] = [{ check: 'scrape', ...own }];
  if (config === undefined) return checks;
  const { host, port } = config.server.listen;
  const subject = `${host}:${port}`;
  if (config.security.server !== undefined) {
    return [...checks, { check: 'scrape', subject, ...skippedCheck('uses TLS or users; not checked from here') }];
  }
  const reached = port === 0 ? undefined : await reach(`http://${localHost(host)}:${port}/metrics`, 'GET', io);
  return reached === undefined ? checks : [...checks, { check: 'scrape', subject, ...addressCheck(reached) }];
}

function addressCheck(reached: Reached): CheckResult {
  if ('error' in reached) {
    const fix = 'check server.listen, and that no other program has the port';
    return finding(`does not respond: ${reached.error}`, fix);
  }
  if (reached.status === 401) return ok('responds, and requires credentials from Prometheus');
  return metricsCheck(reached);
}

function metricsCheck({ status, text }: { readonly status: number; readonly text: string }): CheckResult {
  const fix = 'check that the address is that of opsd';
  if (status !== 200) return finding(`/metrics responds ${status}`, fix);
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const wrong = lines.find((line) => !SAMPLE.test(line));
  if (wrong !== undefined) return finding(`/metrics has an invalid line: ${wrong.slice(0, 80)}`, fix);
  if (!lines.some((line) => line.startsWith('opsd_build_info'))) return finding('/metrics has no opsd_build_info', fix);
  return ok(`/metrics has ${formatCount(lines.length)} samples`);
}

/** Checks that a Prometheus has samples of a daemon, or finds out why not. */
export async function checkPrometheus(url: string, config: Config | undefined, io: CliIo): Promise<readonly Check[]> {
  const base = url.replace(/(?<!\/)\/+$/, '');
  const about = { check: 'prometheus', subject: base };
  const { host, port } = config?.server.listen ?? { host: 'HOST', port: 10_777 };
  const fix = `add to its scrape_configs: {job_name: opsd, static_configs: [{targets: ["${host}:${port}"]}]}`;
  const found = dataOf(await reach(`${base}/api/v1/query?query=opsd_build_info`, 'GET', io));
  if (typeof found === 'string') {
    return [{ ...about, ...finding(found, 'check that --prometheus is the base URL of a Prometheus') }];
  }
  const results = recordsOf(found['result']).map(({ metric }) => (isRecord(metric) ? String(metric['instance']) : ''));
  if (results.length > 0) return [{ ...about, ...ok(`scrapes opsd at ${results.join(', ')}`) }];
  const targets = dataOf(await reach(`${base}/api/v1/targets?state=active`, 'GET', io));
  const down = (typeof targets === 'string' ? [] : recordsOf(targets['activeTargets'])).find(
    ({ scrapeUrl, health }) => health === 'down' && URL.parse(String(scrapeUrl))?.port === String(port),
  );
  if (down === undefined) return [{ ...about, ...finding('no target is an opsd that is up', fix) }];
  const result = `the target ${String(down['scrapeUrl'])} is down: ${String(down['lastError'])}`;
  return [{ ...about, ...finding(result, 'make that address reachable for Prometheus; see server.listen') }];
}

/** Field `data` of a response of Prometheus, or the reason why there is none. */
function dataOf(reached: Reached): Readonly<Record<string, unknown>> | string {
  if ('error' in reached) return `does not respond: ${reached.error}`;
  const answer = jsonOf(reached.text);
  if (isRecord(answer) && isRecord(answer['data'])) return answer['data'];
  return `responds ${reached.status}, and not as a Prometheus`;
}
