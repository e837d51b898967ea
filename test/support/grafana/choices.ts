/** Choices of a dashboard's variables, from a real Prometheus with Grafana's queries. */
import type { Prometheus } from '../prometheus.ts';
import type { Dashboard } from './dashboard.ts';
import { interpolate, type Choice, type Scope } from './variables.ts';

/** `all`: the initial state of a dashboard; `first`: one value of each variable; `every`: each value selected. */
export type Picking = 'all' | 'first' | 'every';

export interface Chosen {
  readonly choices: ReadonlyMap<string, Choice>;
  /** Values that the variables with queries offer. */
  readonly offers: readonly { readonly name: string; readonly options: readonly string[] }[];
}

/** Runs in their order: a query may use earlier variables. */
export async function choose(
  { templating }: Pick<Dashboard, 'templating'>,
  prometheus: Pick<Prometheus, 'ask'>,
  { scope, picking }: { readonly scope: Omit<Scope, 'choices'>; readonly picking: Picking },
): Promise<Chosen> {
  const choices = new Map<string, Choice>();
  const offers = [];
  for (const { name, type, query, allValue } of templating.list) {
    const text = typeof query === 'object' ? (query.query ?? '') : (query ?? '');
    if (type === 'datasource' && text === 'prometheus') {
      choices.set(name, text);
      continue;
    }
    const labelValues = /^label_values\((.+),\s*(\w+)\s*\)$/s.exec(text);
    if (type !== 'query' || labelValues === null || allValue == null) {
      throw new Error(`$${name} is a variable of the type ${type} over ${text}, which is not known here`);
    }
    const [, selector, label] = labelValues;
    const options = await prometheus.ask<readonly string[]>(`label/${label}/values`, {
      start: String(scope.fromMs / 1_000),
      end: String(scope.toMs / 1_000),
      'match[]': interpolate(selector!, { ...scope, choices }),
    });
    offers.push({ name, options });
    if (picking === 'all') choices.set(name, allValue);
    else if (options.length > 0) choices.set(name, picking === 'every' ? options : options.slice(0, 1));
  }
  return { choices, offers };
}
