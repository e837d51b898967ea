/** Results of a dashboard's panels and annotations from a real Prometheus. */
import type { Prometheus, Series } from '../prometheus.ts';
import { asking, type Dashboard, type DataSource, type Panel, type Target } from './dashboard.ts';
import { interpolate, SCRAPE_INTERVAL_MS, stepOf, type Choice, type Scope } from './variables.ts';

/** View of a user. */
export interface View {
  readonly fromMs: number;
  readonly toMs: number;
  readonly choices: ReadonlyMap<string, Choice>;
}

export interface Answer {
  readonly panel: Panel;
  readonly target: Target;
  readonly isInstant: boolean;
  /** PromQL as it was sent. */
  readonly promql: string;
  readonly series: readonly Series[];
}

export function scopeOf(view: View, { interval }: Pick<Panel, 'interval'> = {}): Scope {
  const leastMs = interval ? lengthOf(interval) : SCRAPE_INTERVAL_MS;
  return { ...view, intervalMs: stepOf(view.toMs - view.fromMs, leastMs) };
}

/** Returns both forms for a target that requests both. */
export async function answersOf(
  dashboard: Dashboard,
  prometheus: Pick<Prometheus, 'instant' | 'range'>,
  view: View,
): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  for (const panel of asking(dashboard)) {
    for (const target of panel.targets ?? []) {
      const where = `${dashboard.uid}: ${panel.title}: ${target.refId}`;
      try {
        answers.push(...(await answered(panel, target, { prometheus, view })));
      } catch (error) {
        throw new Error(`${where}: ${target.expr}`, { cause: error });
      }
    }
  }
  return answers;
}

async function answered(
  panel: Panel,
  target: Target,
  { prometheus, view }: { readonly prometheus: Pick<Prometheus, 'instant' | 'range'>; readonly view: View },
): Promise<readonly Answer[]> {
  checkDatasource(target.datasource ?? panel.datasource, view.choices);
  const scope = scopeOf(view, panel);
  const promql = interpolate(target.expr ?? '', scope);
  const span = { from: view.fromMs / 1_000, to: view.toMs / 1_000, step: scope.intervalMs / 1_000 };
  const answers: Answer[] = [];
  if (target.instant === true) {
    const series = await prometheus.instant(promql, span.to);
    answers.push({ panel, target, promql, isInstant: true, series });
  }
  if (target.range === true || target.instant !== true) {
    const series = await prometheus.range(promql, aligned(span));
    answers.push({ panel, target, promql, isInstant: false, series });
  }
  return answers;
}

/** Aligns the time range. Its last point is now. Grafana's may be a step older and miss a young series. */
function aligned({ from, to, step }: { readonly from: number; readonly to: number; readonly step: number }) {
  const steps = Math.floor((to - from) / step);
  return { from: to - steps * step, to, step };
}

function checkDatasource(datasource: DataSource | null | undefined, choices: ReadonlyMap<string, Choice>): void {
  const name = /^\$\{?(\w+)\}?$/.exec(datasource?.uid ?? '')?.[1];
  if (name === undefined || !choices.has(name)) {
    throw new Error(`its datasource is no variable: ${JSON.stringify(datasource)}`);
  }
}

/** Returns annotations that query Prometheus, without Grafana's own. */
export async function annotationsOf(
  { annotations, uid }: Dashboard,
  prometheus: Pick<Prometheus, 'range'>,
  view: View,
): Promise<readonly { readonly name: string; readonly series: readonly Series[] }[]> {
  const found = [];
  for (const annotation of annotations.list) {
    if (annotation.datasource?.type === 'grafana' || annotation.datasource?.type === 'datasource') continue;
    checkDatasource(annotation.datasource, view.choices);
    const scope = scopeOf(view);
    const { expr } = annotation;
    if (expr === undefined) throw new Error(`${uid}: the annotation ${annotation.name} asks nothing`);
    const span = { from: view.fromMs / 1_000, to: view.toMs / 1_000, step: scope.intervalMs / 1_000 };
    found.push({ name: annotation.name, series: await prometheus.range(interpolate(expr, scope), aligned(span)) });
  }
  return found;
}

/** Parses `30s`, `2m`, `1h` to milliseconds. A leading `>` means at least. */
function lengthOf(text: string): number {
  const match = /^>?(\d+)(ms|s|m|h|d)$/.exec(text);
  if (match === null) throw new Error(`${text} is no length of time`);
  return Number(match[1]) * { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }[match[2] as 'ms' | 's'];
}
