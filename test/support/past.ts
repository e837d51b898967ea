/**
 * Days that a daemon could have had, made from one scrape of it: the same series with the same labels, counters that
 * rise faster by day than by night, gauges that vary. They end before the moment of the scrape, so that what is scraped
 * afterwards goes on as after a restart.
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
  /** Of the live target, as `job` and `instance`. */
  readonly labels: Readonly<Record<string, string>>;
  /** Of the scrape, epoch seconds. */
  readonly now: number;
}

const DAY = 86_400;
/** Coarse for days, fine for the last hours, as far as lookback and rates need it. */
const COARSE_SECONDS = 300;
const FINE_SECONDS = 15;
const FINE_FOR = 2 * 3_600;
/** Between the last sample of the past and the scrape: longer than a series is looked for, so that none lives on. */
const GAP_SECONDS = 310;

/** Writes the past of what `text` (a scrape, in the older format) shows as blocks into the folder of a Prometheus. */
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
  // One pass for each block: few blocks.
  const args = ['tsdb', 'create-blocks-from', '--max-block-duration=180h', 'openmetrics', file, folder];
  await promisify(execFile)(promtool, args, { maxBuffer: 10_000_000 });
  await rm(file);
}

/** OpenMetrics text with times. */
function* pastOf(scraped: Exposition, options: PastOptions): Generator<string> {
  const times = timesOf(options);
  const started = scraped.value('process_start_time_seconds', {}) ?? options.now - 60;
  for (const [family, samples] of familiesOf(scraped)) {
    const type = scraped.types[family] ?? 'gauge';
    // A counter's family goes without the ending of its samples.
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

function timesOf({ days, now }: PastOptions): readonly number[] {
  const end = Math.floor(now) - GAP_SECONDS;
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

/** The value at a time, as text. */
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
  // Another process than the one of now.
  if (name === 'process_start_time_seconds') return () => spelled(now - 40 * DAY);
  if (name.endsWith('_timestamp_seconds'))
    return (time) => spelled(now - value < DAY / 24 ? value - now + time : value);
  if ((isWhole && value === 1) || /info|limit|max_|budget|hash|interval|mode|step|remaining|forecast/.test(name)) {
    return () => spelled(value);
  }
  // What grows from midnight, or from the first of the month.
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

/** By day more than by night, around 1; each destination, workflow, key and index a little later than another. */
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
  const pairs = Object.entries({ ...labels, ...more }).map(
    ([key, value]) =>
      `${key}="${value
        .replaceAll('\\', String.raw`\\`)
        .replaceAll('"', String.raw`\"`)
        .replaceAll('\n', String.raw`\n`)}"`,
  );
  return `${name}{${pairs.join(',')}}`;
}
