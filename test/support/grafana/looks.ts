/** The shipped dashboards over a real Prometheus, with the queries that may be empty. */
import { join } from 'node:path';
import { QUIET } from '../../../dashboards/quiet.ts';
import type { Prometheus } from '../prometheus.ts';
import { until } from '../until.ts';
import { asking, readDashboards, type Dashboard } from './dashboard.ts';
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
export async function lookUntil(source: Prometheus, how: Look, wanted: (what: string) => boolean, all = DASHBOARDS) {
  let dashboards = all;
  // Samples are scraped and rules evaluated every five seconds.
  return await until({ what: 'nothing is empty', pauseMs: 5_000 }, async () => {
    const found = await look(source, how, dashboards);
    const areAll = dashboards === all;
    const left = [...found.empty].filter(wanted);
    // Only empty queries are repeated. At the end all are sent, at one time.
    dashboards = left.length === 0 ? all : withOnly((what) => left.includes(what));
    if (left.length > 0) throw new Error(`nothing is shown by ${left.join(', ')}`);
    return areAll && found;
  });
}

/** Returns the dashboards that have such queries, without their other panels and annotations. */
export function withOnly(wanted: (what: string) => boolean): readonly Dashboard[] {
  return DASHBOARDS.flatMap((dashboard) => {
    const { uid, templating, annotations } = dashboard;
    const panels = asking(dashboard).flatMap((panel) => {
      const targets = (panel.targets ?? []).filter(({ refId }) => wanted(`${uid}/panel/${panel.title}/${refId}`));
      return targets.length === 0 ? [] : [{ ...panel, panels: [], targets }];
    });
    const list = annotations.list.filter(({ name }) => wanted(`${uid}/annotation/${name}`));
    const hasVariable = templating.list.some(({ name }) => wanted(`${uid}/variable/${name}`));
    if (panels.length + list.length === 0 && !hasVariable) return [];
    return [{ ...dashboard, panels, annotations: { ...annotations, list } }];
  });
}
