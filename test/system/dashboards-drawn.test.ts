/**
 * The dashboards, rendered in a browser from their JSON and a real Prometheus. With SCREENSHOTS, a folder, the test
 * writes pictures there, of the first SCREENSHOTS_MINUTES of the demo.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { domOf, screenshot } from '../support/browser.ts';
import { answersOf } from '../support/grafana/answers.ts';
import { asking } from '../support/grafana/dashboard.ts';
import { viewOf, type Look } from '../support/grafana/gaps.ts';
import { DASHBOARDS, lookUntil, quietKey } from '../support/grafana/looks.ts';
import { pageOf, sizeOf } from '../support/preview/page.ts';
import { installed } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { watchedDemo } from '../support/watched-demo.ts';

const HOUR = 3_600;

test('every panel of every dashboard is rendered with data, except quiet ones', async ({ skip }) => {
  const [server, promtool, chromium] = ['prometheus', 'promtool', 'chromium'].map(installed);
  if (server === undefined || promtool === undefined || chromium === undefined) skip('a program is not installed');
  const { SCREENSHOTS: pictures, SCREENSHOTS_MINUTES: minutes } = process.env;
  const programs = { prometheus: server!, promtool: promtool! };
  // In a picture the times of the axes are those of the demo.
  const speed = pictures === undefined ? 5 : 1;
  const { prometheus, liveSince } = await watchedDemo(programs, { seed: 5, speed });
  const seconds = minutes === undefined ? HOUR : Number(minutes) * 60;
  if (minutes !== undefined) {
    const what = 'the demo has run so long';
    await until({ what, timeoutMs: 4_000_000 }, () => Date.now() / 1_000 - liveSince >= seconds);
  }
  const now: Look = { seconds, picking: 'all', since: liveSince };
  const { asked, toMs } = await lookUntil(prometheus, now, (what) => quietKey(what) === undefined);
  expect(asked).not.toEqual([]);
  const folder = tempDir();
  for (const dashboard of DASHBOARDS) {
    // Exactly that time: a campaign that it shows may end soon.
    const view = await viewOf(dashboard, prometheus, { ...now, toMs });
    const file = join(folder, `${dashboard.uid}.html`);
    writeFileSync(file, pageOf(dashboard, await answersOf(dashboard, prometheus, view), view));
    if (pictures !== undefined) {
      const png = join(pictures, `${dashboard.uid}.png`);
      await screenshot(chromium!, pathToFileURL(file).href, { file: png, ...sizeOf(dashboard) });
    }
    const dom = await domOf(chromium!, pathToFileURL(file).href);
    const shown = [...dom.matchAll(/data-state="data" data-id="(\d+)"/g)].map(([, id]) => Number(id));
    const charts = [...dom.matchAll(/id="chart-(\d+)" data-lines="([1-9]\d*)"/g)].map(([, id]) => Number(id));
    for (const { id, type, title, targets = [] } of asking(dashboard)) {
      const isQuiet = targets.every(({ refId }) => quietKey(`${dashboard.uid}/panel/${title}/${refId}`) !== undefined);
      if (!isQuiet) expect.soft(shown, `${dashboard.uid}: ${title}`).toContain(id);
      if (type === 'timeseries' && shown.includes(id)) expect.soft(charts, `${dashboard.uid}: ${title}`).toContain(id);
    }
  }
}, 4_000_000);
