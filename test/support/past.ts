/**
 * Generates days of plausible history from one scrape of a daemon: the same series and labels, counters that increase
 * faster by day than by night, and varying gauges. The history ends before the scrape, so that later scrapes continue
 * as after a restart.
 */
import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseExposition, type Exposition, type Sample } from './exposition.ts';

export interface PastOptions {
  readonly days: number;
  /** Labels of the live target, such as `job` and `instance`. */
  readonly labels: Readonly<Record<string, string>>;
  /** Epoch seconds of the scrape. */
  readonly now: number;
  /** Epoch seconds of the first live sample. */
  readonly liveSince: number;
}

const DAY = 86_400;
/** Coarse steps for days, fine steps for the last hours, as lookback and rates require. */
const COARSE_SECONDS = 300;
const FINE_SECONDS = 15;
const FINE_FOR = 2 * 3_600;
/** Gap before the first live sample. It exceeds the lookback, so that no old series continues. */
const GAP_SECONDS = 310;

/** Writes the history of `text` (a scrape, in the older format) as blocks into the folder of a Prometheus. */
export async function writePast(
  { promtool, folder, text }: { readonly promtool: string; readonly folder: string; readonly text: string },
  options: PastOptions,
): Promise<void> {
  const file = join(folder, 'past.om');
  const out = createWriteStream(file);
  for (const part of pastOf(parseExposition(text), options)) {
    if (!out.write(part)) await once(out, 'drain');
  }
  out.end();
  await once(out, 'close');
  // One pass per block, so few blocks are used.
  const args = ['tsdb', 'create-blocks-from', '--max-block-duration=180h', 'openmetrics', file, folder];
  await promisify(execFile)(promtool, args, { maxBuffer: 10_000_000 });
  await rm(file);
}

/** Yields OpenMetrics text with times. */
function* pastOf(scraped: Exposition, options: PastOptions): Generator<string> {
  const times = timesOf(options);
  const started = scraped.value('process_start_time_seconds', {}) ?? options.now - 60;
  for (const [family, samples] of familiesOf(scraped)) {
    const type = scraped.types[family] ?? 'gauge';
    // The family of a counter lacks the suffix of its samples.
    yield `# TYPE ${type === 'counter' ? family.replace(/_total$/, '') : family} ${type}\n`;
    for (const sample of samples) {
      const at = courseOf(sample, { type, now: options.now, upSeconds: Math.max(1, options.now - started) });
      const series = written(sample, options.labels);
      let text = '';
      for (const time of times) text += `${series} ${at(time)} ${time}\n`;
      yield text;
    }
  }
  yield '# TYPE up gauge\n';
  const up = written({ name: 'up', labels: {}, value: 1 }, options.labels);
  yield times.map((time) => `${up} 1 ${time}\n`).join('');
  yield '# EOF\n';
}

function timesOf({ days, liveSince }: PastOptions): readonly number[] {
  const end = Math.floor(liveSince) - GAP_SECONDS;
  const times: number[] = [];
  for (let time = end - days * DAY; time < end - FINE_FOR; time += COARSE_SECONDS) times.push(time);
  for (let time = end - FINE_FOR; time <= end; time += FINE_SECONDS) times.push(time);
  return times;
}

function familiesOf({ samples, types }: Exposition): ReadonlyMap<string, readonly Sample[]> {
  return Map.groupBy(samples, ({ name }) => {
    const base = name.replace(/_(?:bucket|sum|count)$/, '');
    return types[base] === 'histogram' ? base : name;
  });
}

/** Returns the value at a time, as text. */
function courseOf(
  sample: Sample,
  { type, now, upSeconds }: { readonly type: string; readonly now: number; readonly upSeconds: number },
): (time: number) => string {
  const { name, value } = sample;
  const isWhole = Number.isInteger(value);
  if (value === 0 || !Number.isFinite(value)) return () => spelled(value);
  const wave = waveOf(sample);
  if (type === 'counter' || type === 'histogram') {
    const perSecond = value / upSeconds;
    const from = now - 40 * DAY;
    return (time) => spelled(rounded(perSecond * wave.sum(from, time), isWhole && !name.endsWith('_sum')));
  }
  // The earlier process had another start time.
  if (name === 'process_start_time_seconds') return () => spelled(now - 40 * DAY);
  if (name.endsWith('_timestamp_seconds'))
    return (time) => spelled(now - value < DAY / 24 ? value - now + time : value);
  if ((isWhole && value === 1) || /info|limit|max_|budget|hash|interval|mode|step|remaining|forecast/.test(name)) {
    return () => spelled(value);
  }
  // Values that increase from midnight, or from the first of the month.
  const begin = /_(day|month)_/.exec(name)?.[1];
  if (begin !== undefined) {
    const share = (time: number): number => sinceBegin(time, begin) / sinceBegin(now, begin);
    return (time) => spelled(rounded(value * share(time), isWhole));
  }
  return (time) => spelled(rounded(value * wave.at(time), isWhole));
}

function sinceBegin(time: number, begin: string): number {
  const date = new Date(time * 1_000);
  return begin === 'day' ? 60 + (time % DAY) : date.getUTCDate() * DAY - DAY + 60 + (time % DAY);
}

/**
 * Returns a wave around 1, higher by day than by night. Each destination, workflow, key and index has a slightly
 * different phase.
 */
function waveOf({ labels }: Sample): { at(time: number): number; sum(from: number, to: number): number } {
  const who = labels['destination'] ?? labels['workflow'] ?? labels['flow_control_key'] ?? labels['index'] ?? '';
  const shift = who.length % 7;
  const daily = (2 * Math.PI) / DAY;
  const quick = (2 * Math.PI) / 1_700;
  const phase = 8.5 * 3_600 + shift * 1_200;
  return {
    at: (time) => 1 + 0.5 * Math.sin(daily * (time - phase)) + 0.05 * Math.sin(quick * time + shift),
    sum(from, to) {
      const until = (time: number): number =>
        time - (0.5 / daily) * Math.cos(daily * (time - phase)) - (0.05 / quick) * Math.cos(quick * time + shift);
      return until(to) - until(from);
    },
  };
}

function rounded(value: number, isWhole: boolean): number {
  return isWhole ? Math.floor(value) : Number(value.toPrecision(8));
}

function spelled(value: number): string {
  if (value === Infinity) return '+Inf';
  if (value === -Infinity) return '-Inf';
  return String(value);
}

function written({ name, labels }: Sample, more: Readonly<Record<string, string>>): string {
  // JSON escapes a text without control characters in the same way.
  const pairs = Object.entries({ ...labels, ...more }).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  return `${name}{${pairs.join(',')}}`;
}
