/** Finds the empty panels and marks of a dashboard in a view. */
import type { Prometheus } from '../prometheus.ts';
import { annotationsOf, answersOf, scopeOf, type View } from './answers.ts';
import { choose, type Picking } from './choices.ts';
import type { Dashboard } from './dashboard.ts';
import { isEmpty } from './emptiness.ts';

export interface Look {
  readonly seconds: number;
  /** End of the view in epoch milliseconds; now when absent. */
  readonly toMs?: number;
  readonly picking: Picking;
  /** Epoch seconds. Data must be younger. */
  readonly since: number;
}

/** Returns `panel/TITLE/QUERY`, `annotation/NAME` and `variable/NAME` of each empty part, with its dashboard. */
export async function gapsOf(
  dashboard: Dashboard,
  prometheus: Pick<Prometheus, 'ask' | 'instant' | 'range'>,
  look: Look,
): Promise<{ readonly asked: readonly string[]; readonly empty: readonly string[] }> {
  const view = await viewOf(dashboard, prometheus, look);
  const asked = new Map<string, boolean>();
  const tell = (what: string, empty: boolean): void => {
    const key = `${dashboard.uid}/${what}`;
    // A target with both forms shows the data of either.
    asked.set(key, empty && (asked.get(key) ?? true));
  };
  for (const { name, options } of view.offers) tell(`variable/${name}`, options.length === 0);
  for (const { panel, target, isInstant, series } of await answersOf(dashboard, prometheus, view)) {
    const isHeatmap = panel.type === 'heatmap';
    tell(`panel/${panel.title}/${target.refId}`, isEmpty(series, { isInstant, isHeatmap, since: look.since }));
  }
  for (const { name, series } of await annotationsOf(dashboard, prometheus, view)) {
    tell(`annotation/${name}`, isEmpty(series, { isInstant: false, isHeatmap: false, since: look.since }));
  }
  return { asked: [...asked.keys()], empty: [...asked].flatMap(([key, empty]) => (empty ? [key] : [])) };
}

export async function viewOf(
  dashboard: Dashboard,
  prometheus: Pick<Prometheus, 'ask'>,
  { seconds, toMs = Date.now(), picking }: Pick<Look, 'seconds' | 'toMs' | 'picking'>,
): Promise<View & Awaited<ReturnType<typeof choose>>> {
  const fromMs = toMs - seconds * 1_000;
  const scope = scopeOf({ fromMs, toMs, choices: new Map() });
  return { fromMs, toMs, ...(await choose(dashboard, prometheus, { scope, picking })) };
}
