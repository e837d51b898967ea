/**
 * Every query of every dashboard, sent to a real Prometheus as Grafana sends it. Over the demo all of them have data,
 * except those in the list of quiet ones. Each of these has data once its fault occurs.
 */
import { expect, test } from 'vitest';
import { QUIET } from '../../dashboards/quiet.ts';
import { DASHBOARDS, look, lookUntil, quietKey } from '../support/grafana/looks.ts';
import type { Look } from '../support/grafana/gaps.ts';
import { installed } from '../support/program.ts';
import { prometheus } from '../support/prometheus.ts';
import { promtoolSays } from '../support/promtool.ts';
import { FAULTS, PHASES } from '../support/shop-faults.ts';
import { troubledShop } from '../support/troubled-shop.ts';
import { until } from '../support/until.ts';
import { RULE_PATHS, watchedDemo } from '../support/watched-demo.ts';

const HOUR = 3_600;
const WEEK = 168 * HOUR;

test('over the demo no query fails, and exactly the quiet ones are empty', async ({ skip }) => {
  const [server, promtool] = [installed('prometheus'), installed('promtool')];
  if (server === undefined || promtool === undefined) skip('prometheus is not installed');
  const {
    url,
    prometheus: source,
    liveSince,
  } = await watchedDemo({ prometheus: server!, promtool: promtool! }, { seed: 3, speed: 5 });
  const isLoud = (what: string): boolean => quietKey(what) === undefined;
  const now: Look = { seconds: HOUR, picking: 'all', since: liveSince };
  const { asked, empty } = await lookUntil(source, now, isLoud);
  expect(asked.length).toBeGreaterThan(DASHBOARDS.length * 10);

  // The list has no entry for an unknown query, and none for a query with data.
  const known = new Set(asked.map(quietKey));
  expect(Object.keys(QUIET).filter((key) => !known.has(key))).toEqual([]);
  const isQuiet = (what: string): boolean => !isLoud(what) && QUIET[quietKey(what)!]!.inDemo !== true;
  expect(asked.filter((what) => isQuiet(what) && !empty.has(what))).toEqual([]);

  // The previous days, and other choices of the variables.
  await lookUntil(source, { seconds: WEEK, picking: 'all', since: 0 }, isLoud);
  await lookUntil(source, { seconds: HOUR, picking: 'every', since: liveSince }, isLoud);
  expect((await look(source, { seconds: HOUR, picking: 'first', since: liveSince })).asked).toEqual(asked);
  expect(await promtoolSays(promtool!, await (await fetch(`${url}/metrics`)).text())).toBe('');
}, 420_000);

test('each quiet query has data once its fault occurs', async ({ skip }) => {
  const server = installed('prometheus');
  if (server === undefined) skip('prometheus is not installed');
  const shop = await troubledShop({ seed: 3, speed: 5 });
  const source = await prometheus(server!, { jobs: { opsd: shop.url }, scrapeSeconds: 2, ruleFiles: RULE_PATHS });
  // The earlier state is known, so that a change is visible.
  await until(
    { what: 'the daemon is watched', timeoutMs: 60_000 },
    async () => (await source.value('min(count_over_time(opsd_config_last_reload_successful[1m]))')) >= 2,
  );
  const now: Look = { seconds: HOUR, picking: 'all', since: 0 };
  for (const phase of PHASES) {
    const isFilled = (what: string): boolean => phase.some((fault) => QUIET[quietKey(what) ?? '']?.filledBy === fault);
    for (const fault of phase) await FAULTS[fault](shop);
    const { asked, empty } = await lookUntil(source, now, isFilled);
    expect(asked.filter((what) => isFilled(what) && empty.has(what))).toEqual([]);
  }
}, 600_000);
