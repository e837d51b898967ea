/** Grafana's variables in a query to Prometheus: the values of `$account`, `$__rate_interval`. */

/** Choice of a variable: values, which become a regular expression, or a text that is inserted unchanged. */
export type Choice = string | readonly string[];

export interface Scope {
  readonly fromMs: number;
  readonly toMs: number;
  readonly choices: ReadonlyMap<string, Choice>;
  /** Time between two points of a chart. */
  readonly intervalMs: number;
}

/** Grafana's default. */
export const SCRAPE_INTERVAL_MS = 15_000;

const BUILT_IN: Readonly<Record<string, (scope: Scope) => string>> = {
  __interval: ({ intervalMs }) => `${intervalMs / 1_000}s`.replace(/^(\d+\.\d+)s$/, () => `${intervalMs}ms`),
  __interval_ms: ({ intervalMs }) => String(intervalMs),
  __rate_interval: ({ intervalMs }) =>
    `${Math.round(Math.max(intervalMs + SCRAPE_INTERVAL_MS, 4 * SCRAPE_INTERVAL_MS) / 1_000)}s`,
  __range: ({ fromMs, toMs }) => `${Math.round((toMs - fromMs) / 1_000)}s`,
};

/** @throws {Error} for an unknown variable, and for the forms `${name}` and `[[name]]`, which the dashboards do not use */
export function interpolate(text: string, scope: Scope): string {
  return text.replaceAll(/\$(\w+)|\$\{|\[\[/g, (whole, name = '') => {
    // A group of a regular expression, as in label_replace.
    if (/^\d+$/.test(name)) return whole;
    const choice = scope.choices.get(name);
    if (typeof choice === 'string') return choice;
    const known = choice === undefined ? BUILT_IN[name]?.(scope) : patternOf(choice);
    if (known === undefined) throw new Error(`${whole} is not a variable: ${text}`);
    return known;
  });
}

function patternOf(values: readonly string[]): string {
  const patterns = values.map(escaped);
  return patterns.length === 1 ? patterns[0]! : `(${patterns.join('|')})`;
}

/** Escapes a pattern for a string of PromQL, where a backslash is doubled. */
function escaped(value: string): string {
  return value.replaceAll('\\', String.raw`\\\\`).replaceAll(/[$^*{}[\]'+?.()|]/g, String.raw`\\$&`);
}

/** Widths of a chart's steps that Grafana can select, in seconds. */
const STEPS = [
  1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1_200, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400, 604_800,
];

/** Number of points in a chart. */
const POINTS = 1_000;

/** Returns the width of a step: the nearest for the number of points, at least `leastMs`. */
export function stepOf(rangeMs: number, leastMs: number): number {
  const exact = rangeMs / POINTS / 1_000;
  const chosen = STEPS.find((step, at) => exact < (step + (STEPS[at + 1] ?? Infinity)) / 2)!;
  return Math.max(chosen * 1_000, leastMs);
}
