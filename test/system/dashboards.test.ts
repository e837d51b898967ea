/**
 * Every query of every dashboard, sent to a real Prometheus as Grafana sends it, and every panel in a browser. Over the
 * demo all of them have data, except those in the list of quiet ones. Each of these has data once its fault occurs.
 * With SCREENSHOTS, a folder, the first test writes pictures there, of the first SCREENSHOTS_MINUTES of the demo.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { QUIET } from '../../dashboards/quiet.ts';
import { openTab } from '../support/browser-tab.ts';
import { parseExposition } from '../support/exposition.ts';
import { answersOf } from '../support/grafana/answers.ts';
import { asking } from '../support/grafana/dashboard.ts';
import { viewOf, type Look } from '../support/grafana/gaps.ts';
import { DASHBOARDS, look, lookUntil, quietKey } from '../support/grafana/looks.ts';
import { pageOf, sizeOf } from '../support/preview/page.ts';
import { installed } from '../support/program.ts';
import { prometheus, type Prometheus } from '../support/prometheus.ts';
import { promtoolSays } from '../support/promtool.ts';
import { FAULTS, PHASES } from './shop-faults.ts';
import { tempDir } from '../support/temp-dir.ts';
import { troubledShop } from '../support/troubled-shop.ts';
import { until } from '../support/until.ts';
import { RULE_PATHS, watchedDemo } from './watched-demo.ts';

const HOUR = 3_600;
const WEEK = 168 * HOUR;
const { SCREENSHOTS: pictures, SCREENSHOTS_MINUTES: minutes } = process.env;

const SOURCE_FAILURES = 'opsd-daemon/panel/Source failures by reason/A';

const isLoud = (what: string): boolean => quietKey(what) === undefined;

test('over the demo no query fails, exactly the quiet ones are empty, and every other panel is rendered', async ({
  skip,
}) => {
  const [server, promtool, chromium] = ['prometheus', 'promtool', 'chromium'].map(installed);
  if (server === undefined || promtool === undefined || chromium === undefined) skip('a program is not installed');
  // In a picture the times of the axes are those of the demo.
  const demo = { seed: 3, speed: pictures === undefined ? 5 : 1 };
  const watched = await watchedDemo({ prometheus: server!, promtool: promtool! }, demo);
  const { url, prometheus: source, liveSince } = watched;
  const seconds = minutes === undefined ? HOUR : Number(minutes) * 60;
  if (minutes !== undefined) {
    await sleep((liveSince + seconds) * 1_000 - Date.now());
  }
  const now: Look = { seconds, picking: 'all', since: liveSince };
  const { asked, empty, toMs } = await lookUntil(source, now, isLoud);
  expect(asked.length).toBeGreaterThan(DASHBOARDS.length * 10);
  // Exactly that time: a campaign that it shows may end soon.
  await expectRendered(chromium!, source, { ...now, toMs });
  if (pictures !== undefined) return;

  // The list has no entry for an unknown query, and none for a query with data.
  const known = new Set(asked.map(quietKey));
  expect(Object.keys(QUIET).filter((key) => !known.has(key))).toEqual([]);
  const text = await (await fetch(`${url}/metrics`)).text();
  // On a busy machine a request can exceed its deadline. The panel shows it then.
  const failed = parseExposition(text).sum('opsd_collector_failures_total') > 0;
  const isQuiet = (what: string): boolean =>
    !isLoud(what) && QUIET[quietKey(what)!]!.inDemo !== true && !(failed && quietKey(what) === SOURCE_FAILURES);
  expect(asked.filter((what) => isQuiet(what) && !empty.has(what))).toEqual([]);

  // The previous days, and other choices of the variables.
  await lookUntil(source, { seconds: WEEK, picking: 'all', since: 0 }, isLoud);
  await lookUntil(source, { seconds: HOUR, picking: 'every', since: liveSince }, isLoud);
  expect((await look(source, { seconds: HOUR, picking: 'first', since: liveSince })).asked).toEqual(asked);
  expect(await promtoolSays(promtool!, text)).toBe('');
}, 4_000_000);

type Names = Readonly<Record<string, string>>;

/** Returns the titles of the columns of a table that have a value in some row. */
function filledColumns(dom: string, id: number): readonly string[] {
  const [, table = ''] = new RegExp(`data-id="${id}".*?<table>(.*?)</table>`, 's').exec(dom) ?? [];
  const [titles = [], ...rows] = [...table.matchAll(/<tr>(.*?)<\/tr>/gs)].map(([, row = '']) =>
    [...row.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell = '']) => cell.replaceAll(/<[^>]*>/g, '')),
  );
  return titles.filter((_title, column) => rows.some((row) => !['', '–'].includes(row[column] ?? '')));
}

/** Draws each dashboard in a browser. Each panel with a query that is not quiet must show data, and a chart its lines. */
async function expectRendered(chromium: string, source: Prometheus, how: Look): Promise<void> {
  const tab = await openTab(chromium, { isDrawn: pictures !== undefined });
  const folder = tempDir();
  for (const dashboard of DASHBOARDS) {
    const view = await viewOf(dashboard, source, how);
    const file = join(folder, `${dashboard.uid}.html`);
    writeFileSync(file, pageOf(dashboard, await answersOf(dashboard, source, view), view));
    if (pictures !== undefined) await tab.view(sizeOf(dashboard));
    const dom = await tab.html(pathToFileURL(file).href);
    if (pictures !== undefined) await tab.picture(join(pictures, `${dashboard.uid}.png`));
    const shown = [...dom.matchAll(/data-state="data" data-id="(\d+)"/g)].map(([, id]) => Number(id));
    const charts = [...dom.matchAll(/id="chart-(\d+)" data-lines="([1-9]\d*)"/g)].map(([, id]) => Number(id));
    for (const { id, type, title, targets = [], transformations = [] } of asking(dashboard)) {
      const about = `${dashboard.uid}/panel/${title}`;
      if (targets.some(({ refId }) => isLoud(`${about}/${refId}`))) expect.soft(shown, about).toContain(id);
      if (type === 'timeseries' && shown.includes(id)) expect.soft(charts, about).toContain(id);
      if (type !== 'table' || !shown.includes(id)) continue;
      const filled = filledColumns(dom, id);
      const names = (transformations.find((one) => one.id === 'organize')?.options ?? {})['renameByName'] as Names;
      for (const { refId } of targets.filter((target) => isLoud(`${about}/${target.refId}`))) {
        const column = names[targets.length === 1 ? 'Value' : `Value #${refId}`]!;
        expect.soft(filled, `${about}/${refId}`).toContain(column);
      }
    }
  }
}

test('each quiet query has data once its fault occurs', async ({ skip }) => {
  const server = installed('prometheus');
  if (server === undefined) skip('prometheus is not installed');
  const shop = await troubledShop({ seed: 3, speed: 5 });
  const source = await prometheus(server!, { jobs: { opsd: shop.url }, scrapeSeconds: 5, ruleFiles: RULE_PATHS });
  // The earlier state is known, so that a change is visible.
  await until(
    { what: 'the daemon is watched' },
    async () => (await source.value('min(count_over_time(opsd_config_last_reload_successful[1m]))')) >= 2,
  );
  const now: Look = { seconds: HOUR, picking: 'all', since: 0 };
  for (const phase of PHASES) {
    const isFilled = (what: string): boolean => phase.some((fault) => QUIET[quietKey(what) ?? '']?.filledBy === fault);
    for (const fault of phase) await FAULTS[fault](shop, source);
    const { asked, empty } = await lookUntil(source, now, isFilled);
    expect(asked.filter((what) => isFilled(what) && empty.has(what))).toEqual([]);
  }
});
