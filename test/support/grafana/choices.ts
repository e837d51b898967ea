/** Choices of a dashboard's variables, from a real Prometheus with Grafana's queries. */
import type { Prometheus } from '../prometheus.ts';
import type { Dashboard, Variable } from './dashboard.ts';
import { interpolate, type Choice, type Scope } from './variables.ts';

/** `all`: the initial state of a dashboard; `first`: one value of each variable; `every`: each value selected. */
export type Picking = 'all' | 'first' | 'every';

interface Offer {
  readonly name: string;
  readonly options: readonly string[];
}

export interface Chosen {
  readonly choices: ReadonlyMap<string, Choice>;
  /** Choices of the variables with queries. */
  readonly offers: readonly Offer[];
}

/** Runs in their order: a query may use earlier variables. */
export async function choose(
  { templating }: Pick<Dashboard, 'templating'>,
  prometheus: Pick<Prometheus, 'ask' | 'instant'>,
  { scope, picking }: { readonly scope: Omit<Scope, 'choices'>; readonly picking: Picking },
): Promise<Chosen> {
  const choices = new Map<string, Choice>();
  const offers: Offer[] = [];
  for (const variable of templating.list) {
    const options = await optionsOf(variable, prometheus, { ...scope, choices });
    if (variable.type === 'query') offers.push({ name: variable.name, options });
    const choice = choiceOf(variable, options, picking);
    if (choice !== undefined) choices.set(variable.name, choice);
  }
  return { choices, offers };
}

export function choiceOf(variable: Variable, options: readonly string[], picking: Picking): Choice | undefined {
  const takesMany = variable.multi === true || variable.includeAll === true;
  if (picking === 'all' && variable.includeAll === true) {
    const { allValue } = variable;
    return allValue != null && allValue !== '' ? { kind: 'all', text: allValue } : { kind: 'many', values: options };
  }
  const [first] = options;
  if (first === undefined) return undefined;
  if (!takesMany) return { kind: 'one', value: first };
  return { kind: 'many', values: picking === 'every' ? options : [first] };
}

async function optionsOf(
  variable: Variable,
  prometheus: Pick<Prometheus, 'ask' | 'instant'>,
  scope: Scope,
): Promise<readonly string[]> {
  const query = typeof variable.query === 'object' ? (variable.query.query ?? '') : (variable.query ?? '');
  switch (variable.type) {
    case 'datasource':
      if (query !== 'prometheus') throw new Error(`$${variable.name} offers datasources of the type ${query}`);
      return ['prometheus'];
    case 'query':
      return filtered(variable, await asked(interpolate(query, scope), prometheus, scope));
    case 'custom':
      return query.split(',').map((value) => value.trim());
    case 'constant':
    case 'textbox':
      return [query];
    default:
      throw new Error(`$${variable.name} is a variable of the type ${variable.type}, which is not known here`);
  }
}

async function asked(
  query: string,
  prometheus: Pick<Prometheus, 'ask' | 'instant'>,
  { fromMs, toMs }: Scope,
): Promise<readonly string[]> {
  const span = { start: String(fromMs / 1_000), end: String(toMs / 1_000) };
  const values = /^label_values\((?:(.+),)?\s*(\w+)\s*\)$/s.exec(query);
  if (values !== null) {
    const [, selector, label] = values;
    const parameters = { ...span, ...(selector !== undefined && { 'match[]': selector.trim() }) };
    return await prometheus.ask<readonly string[]>(`label/${label!}/values`, parameters);
  }
  const result = /^query_result\((.+)\)$/s.exec(query);
  if (result === null) throw new Error(`a variable cannot ask ${query}`);
  const series = await prometheus.instant(result[1]!, toMs / 1_000);
  return series.map(({ metric, points }) => {
    const { __name__: name = '', ...labels } = metric;
    const pairs = Object.entries(labels).map(([key, value]) => `${key}="${value}"`);
    return `${name}{${pairs.join(',')}} ${points[0]![1]} ${points[0]![0] * 1_000}`;
  });
}

/** Filters by `regex`. It keeps the match, or its first group. */
function filtered({ regex = '' }: Variable, options: readonly string[]): readonly string[] {
  if (regex === '') return options;
  const parts = /^\/(.*)\/([a-z]*)$/s.exec(regex);
  const pattern = parts === null ? new RegExp(`^${regex}$`) : new RegExp(parts[1]!, parts[2]!.replace('g', ''));
  const found = options.flatMap((option) => {
    const match = pattern.exec(option);
    return match === null ? [] : [match[1] ?? match[0]];
  });
  return [...new Set(found)];
}
