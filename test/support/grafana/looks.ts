/** The shipped dashboards over a real Prometheus, with the queries that may be empty. */
import { join } from 'node:path';
import { QUIET } from '../../../dashboards/quiet.ts';
import type { Prometheus } from '../prometheus.ts';
import { until } from '../until.ts';
import { readDashboards } from './dashboard.ts';
import { gapsOf, type Look } from './gaps.ts';

export const DASHBOARDS = readDashboards(join(import.meta.dirname, '../../../dashboards/json'));

/** Returns the entry of the list for this query, if any. */
export function quietKey(what: string): string | undefined {
  return [what, what.replace(/^[^/]+/, '*')].find((key) => Object.hasOwn(QUIET, key));
}

/** Returns the queries of the dashboards, the empty ones, and the time. */
export async function look(source: Prometheus, how: Look, dashboards = DASHBOARDS) {
  const { toMs = Date.now() } = how;
  const looks = await Promise.all(dashboards.map((dashboard) => gapsOf(dashboard, source, { ...how, toMs })));
  return { toMs, asked: looks.flatMap(({ asked }) => asked), empty: new Set(looks.flatMap(({ empty }) => empty)) };
}

/** Repeats until nothing is empty that `wanted` requires. The error names the rest. */
export async function lookUntil(source: Prometheus, how: Look, wanted: (what: string) => boolean) {
  let dashboards = DASHBOARDS;
  // Samples are scraped and rules evaluated every five seconds.
  return await until({ what: 'nothing is empty', pauseMs: 5_000 }, async () => {
    const found = await look(source, how, dashboards);
    const areAll = dashboards === DASHBOARDS;
    const left = [...found.empty].filter(wanted);
    // Only dashboards with empty parts are queried again. At the end all are queried, at one time.
    dashboards =
      left.length === 0 ? DASHBOARDS : DASHBOARDS.filter(({ uid }) => left.some((what) => what.startsWith(`${uid}/`)));
    if (left.length > 0) throw new Error(`nothing is shown by ${left.join(', ')}`);
    return areAll && found;
  });
}
