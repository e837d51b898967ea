/** Metrics of the process, which prom-client collects and writes, in the answer to a scrape. */
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { installed } from '../../support/program.ts';
import { promtoolSays } from '../../support/promtool.ts';
import { world } from './world.ts';

const NAMES = [
  'process_cpu_seconds_total',
  'process_start_time_seconds',
  'process_resident_memory_bytes',
  'nodejs_heap_size_used_bytes',
  'nodejs_external_memory_bytes',
  'nodejs_eventloop_active_seconds_total',
  'nodejs_eventloop_idle_seconds_total',
];

test.each(['text', 'openmetrics', 'text'] as const)('every scrape has them, as %s and gzipped', async (format) => {
  const { metrics } = await world();
  const body = await metrics.render(format);
  const text = Buffer.concat(body.parts).toString('utf8');
  for (const name of NAMES) {
    expect(text.split('\n').filter((line) => line.startsWith(`${name} `))).toHaveLength(1);
    expect(Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)![1])).toBeGreaterThan(0);
    const family = format === 'openmetrics' ? name.replace(/_total$/, '') : name;
    const type = name.endsWith('_total') ? 'counter' : 'gauge';
    expect(text.split('\n')).toContain(`# TYPE ${family} ${type}`);
  }
  expect(text.match(/# EOF\n/g)?.length ?? 0).toBe(format === 'openmetrics' ? 1 : 0);
  expect(gunzipSync(Buffer.concat(await body.gzip())).toString('utf8')).toBe(text);
});

test('their counters continue in a daemon that follows another in the same process', async () => {
  const [first, second] = [await world(), await world()];
  for (const name of NAMES.filter((counter) => counter.endsWith('_total'))) {
    const before = (await first.scrape()).get(name)!;
    expect((await second.scrape()).get(name)).toBeGreaterThanOrEqual(before);
    expect((await first.scrape()).get(name)).toBeGreaterThanOrEqual(before);
  }
});

test('promtool reports nothing about them', async ({ skip }) => {
  const promtool = installed('promtool');
  if (promtool === undefined) skip('promtool is not installed');
  const text = await (await world()).text();
  const lines = text.split('\n').filter((line) => /^(# (HELP|TYPE) )?(process|nodejs)_/.test(line));
  expect(await promtoolSays(promtool!, `${lines.join('\n')}\n`)).toBe('');
});
