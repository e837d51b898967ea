/** A real Prometheus that scrapes the given targets. It ends with the test. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { start } from './program.ts';
import { tempDir } from './temp-dir.ts';
import { until } from './until.ts';

export interface Series {
  readonly metric: Readonly<Record<string, string>>;
  /** Epoch seconds and value. */
  readonly points: readonly (readonly [number, number])[];
}

interface Exemplars {
  readonly exemplars: readonly { readonly labels: Readonly<Record<string, string>> }[];
}

interface Target {
  readonly lastError: string;
  readonly health: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface PrometheusOptions {
  /** Address of each job's target, or of its targets. */
  readonly jobs?: Readonly<Record<string, string | readonly string[]>>;
  /** The whole configuration, instead of that of the jobs and rules. */
  readonly config?: string;
  readonly scrapeSeconds?: number;
  /** Absolute paths of rule files. */
  readonly ruleFiles?: readonly string[];
  /** Folder of its samples; a new one when absent. */
  readonly data?: string;
}

export type Prometheus = Awaited<ReturnType<typeof prometheus>>;

/** Epoch seconds, and seconds. */
interface Span {
  readonly from: number;
  readonly to: number;
  readonly step: number;
}

interface Answer {
  readonly status: string;
  readonly data: unknown;
  readonly warnings?: readonly string[];
}

interface Result {
  readonly resultType: string;
  readonly result: unknown;
}

type Point = readonly [number, string];

interface Row {
  readonly metric: Readonly<Record<string, string>>;
  readonly value?: Point;
  readonly values?: readonly Point[];
}

/** @param program path of `prometheus` */
export async function prometheus(program: string, options: PrometheusOptions) {
  const folder = tempDir();
  const { data = join(folder, 'data') } = options;
  writeFileSync(join(folder, 'prometheus.yml'), options.config ?? configuration(options));
  const port = await freePort();
  const server = start(
    program,
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${data}`,
      '--storage.tsdb.retention.time=60d',
      `--web.listen-address=127.0.0.1:${port}`,
      '--enable-feature=exemplar-storage',
      '--log.level=warn',
    ],
    // It collects garbage less often: memory is cheap here, time is not.
    { env: { GOGC: '400' } },
  );
  const url = `http://127.0.0.1:${port}`;
  await until({ what: 'Prometheus is ready' }, async () => {
    if (server.child.exitCode !== null) throw new Error(server.stderr());
    return (await fetch(`${url}/-/ready`)).ok;
  });
  return { url, stop: () => server.stop(), ...questions(url) };
}

function configuration({ jobs = {}, scrapeSeconds = 1, ruleFiles = [] }: PrometheusOptions): string {
  const scrapes = Object.entries(jobs).map(([job, urls]) => ({
    job_name: job,
    scrape_interval: `${scrapeSeconds}s`,
    scrape_timeout: `${scrapeSeconds}s`,
    static_configs: [{ targets: [urls].flat().map((url) => new URL(url).host) }],
  }));
  // JSON is YAML.
  return JSON.stringify({
    global: { evaluation_interval: `${Math.max(2, scrapeSeconds)}s` },
    rule_files: ruleFiles,
    scrape_configs: scrapes,
  });
}

function questions(url: string) {
  /** Returns the data of a response of the HTTP API, below /api/v1/. A warning is an error. */
  async function ask<T>(path: string, parameters: Readonly<Record<string, string>> = {}): Promise<T> {
    const response = await fetch(`${url}/api/v1/${path}?${new URLSearchParams(parameters).toString()}`);
    return await dataOf<T>(response, path);
  }
  const instant = async (promql: string, atSeconds?: number): Promise<readonly Series[]> =>
    seriesOf(await ask<Result>('query', { query: promql, ...(atSeconds && { time: String(atSeconds) }) }));
  return {
    ask,
    instant,
    range: async (promql: string, { from, to, step }: Span) =>
      seriesOf(
        await ask<Result>('query_range', {
          query: promql,
          start: String(from),
          end: String(to),
          step: String(step),
        }),
      ),
    /** Returns the first value; NaN when there is none. */
    value: async (promql: string) => (await instant(promql))[0]?.points[0]?.[1] ?? Number.NaN,
    exemplars: (promql: string) =>
      ask<readonly Exemplars[]>('query_exemplars', { query: promql, start: '0', end: String(Date.now() / 1_000 + 60) }),
    targets: async () => (await ask<{ activeTargets: readonly Target[] }>('targets')).activeTargets,
  };
}

async function dataOf<T>(response: Response, what: string): Promise<T> {
  const text = await response.text();
  if (!response.ok) throw new Error(`${what}: ${response.status} ${text}`);
  const { data, warnings = [] } = JSON.parse(text) as Answer;
  if (warnings.length > 0) throw new Error(`${what} warns: ${warnings.join('; ')}`);
  return data as T;
}

function seriesOf({ resultType, result }: Result): readonly Series[] {
  if (resultType === 'scalar') return [{ metric: {}, points: [point(result as Point)] }];
  if (resultType === 'string') throw new Error('a string is nothing to draw');
  return (result as readonly Row[]).map(({ metric, value, values }) => ({
    metric,
    points: (values ?? [value!]).map(point),
  }));
}

function point([at, value]: Point): readonly [number, number] {
  return [at, value === '+Inf' ? Infinity : value === '-Inf' ? -Infinity : Number(value)];
}
