/** Which panels and marks of a dashboard show nothing, in a view. */
import type { Prometheus } from '../prometheus.ts';
import { annotationsOf, answersOf, scopeOf, type View } from './answers.ts';
import { choose, type Picking } from './choices.ts';
import type { Dashboard } from './dashboard.ts';
import { isEmpty } from './emptiness.ts';

export interface Look {
  readonly seconds: number;
  /** Its end in epoch milliseconds; now where it is left out. */
  readonly toMs?: number;
  readonly picking: Picking;
  /** Epoch seconds: what is shown has to be younger. */
  readonly since: number;
}

/** `panel/TITLE/QUERY`, `annotation/NAME` and `variable/NAME`, each with its dashboard before it, of what shows nothing. */
export async function gapsOf(
  dashboard: Dashboard,
  prometheus: Pick<Prometheus, 'ask' | 'instant' | 'range'>,
  look: Look,
): Promise<{ readonly asked: readonly string[]; readonly empty: readonly string[] }> {
  const view = await viewOf(dashboard, prometheus, look);
  const asked = new Map<string, boolean>();
  const tell = (what: string, empty: boolean): void => {
    const key = `${dashboard.uid}/${what}`;
    // A target that is asked in both forms shows what either tells.
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
  prometheus: Pick<Prometheus, 'ask' | 'instant'>,
  { seconds, toMs = Date.now(), picking }: Pick<Look, 'seconds' | 'toMs' | 'picking'>,
): Promise<View & Awaited<ReturnType<typeof choose>>> {
  const fromMs = toMs - seconds * 1_000;
  const scope = scopeOf({ fromMs, toMs, choices: new Map() });
  return { fromMs, toMs, ...(await choose(dashboard, prometheus, { scope, picking })) };
}
