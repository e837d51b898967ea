/** Grafana's variables in a query to Prometheus: the values of `$account`, `$__rate_interval`, `${__from}`. */

/** Choice of a variable by a user. */
export type Choice =
  | { readonly kind: 'one'; readonly value: string }
  /** Several values of a variable, or All. They become a regular expression. */
  | { readonly kind: 'many'; readonly values: readonly string[] }
  /** `allValue`, inserted unchanged. */
  | { readonly kind: 'all'; readonly text: string };

export interface Scope {
  readonly fromMs: number;
  readonly toMs: number;
  readonly choices: ReadonlyMap<string, Choice>;
  /** Time between two points of a chart. */
  readonly intervalMs: number;
  /** Scrape interval of the datasource. */
  readonly scrapeIntervalMs: number;
}

const VARIABLE = /\$(\w+)|\$\{(\w+)(?:\.[\w.]+)?(?::([^}]+))?\}|\[\[(\w+)(?::([^\]]+))?\]\]/g;

/** @throws {Error} for an unknown variable or form */
export function interpolate(text: string, scope: Scope): string {
  return text.replaceAll(
    VARIABLE,
    (whole, plain?: string, braced?: string, form?: string, old?: string, oldForm?: string) => {
      const name = plain ?? braced ?? old!;
      // A group of a regular expression, as in label_replace.
      if (/^\d+$/.test(name)) return whole;
      const choice = scope.choices.get(name);
      if (choice !== undefined) return written(choice, form ?? oldForm);
      const known = builtIn(name, form ?? oldForm, scope);
      if (known === undefined) throw new Error(`${whole} is not a variable: ${text}`);
      return known;
    },
  );
}

function builtIn(name: string, form: string | undefined, scope: Scope): string | undefined {
  const { fromMs, toMs, intervalMs, scrapeIntervalMs } = scope;
  const rangeMs = toMs - fromMs;
  switch (name) {
    case '__interval':
      return `${intervalMs / 1_000}s`.replace(/^(\d+\.\d+)s$/, () => `${intervalMs}ms`);
    case '__interval_ms':
      return String(intervalMs);
    case '__rate_interval':
      return `${Math.round(Math.max(intervalMs + scrapeIntervalMs, 4 * scrapeIntervalMs) / 1_000)}s`;
    case '__range':
      return `${Math.round(rangeMs / 1_000)}s`;
    case '__range_s':
      return String(Math.round(rangeMs / 1_000));
    case '__range_ms':
      return String(rangeMs);
    case '__from':
      return moment(fromMs, form);
    case '__to':
      return moment(toMs, form);
    default:
      return undefined;
  }
}

function moment(ms: number, form: string | undefined): string {
  if (form === undefined) return String(ms);
  if (form === 'date' || form === 'date:iso') return new Date(ms).toISOString();
  if (form === 'date:seconds') return String(Math.floor(ms / 1_000));
  throw new Error(`a moment cannot be written as ${form}`);
}

function written(choice: Choice, form: string | undefined): string {
  if (choice.kind === 'all') return choice.text;
  const values = choice.kind === 'one' ? [choice.value] : choice.values;
  switch (form) {
    case undefined:
      if (choice.kind === 'one') return inString(choice.value);
      return values.length === 1 ? inPattern(values[0]!) : `(${values.map(inPattern).join('|')})`;
    case 'regex':
      return values.length === 1 ? asPattern(values[0]!) : `(${values.map(asPattern).join('|')})`;
    case 'pipe':
      return values.join('|');
    case 'raw':
    case 'csv':
      return values.join(',');
    default:
      throw new Error(`a variable cannot be written as ${form}`);
  }
}

function asPattern(value: string): string {
  return value.replaceAll(/[\\^$*+?.()|[\]{}/]/g, String.raw`\$&`);
}

/** Escapes for a string of PromQL, where a backslash is doubled. */
function inString(value: string): string {
  return value.replaceAll('\\', String.raw`\\`).replaceAll("'", String.raw`\\'`);
}

/** Escapes a pattern for a string of PromQL. */
function inPattern(value: string): string {
  return value.replaceAll('\\', String.raw`\\\\`).replaceAll(/[$^*{}[\]'+?.()|]/g, String.raw`\\$&`);
}

/** Widths of a chart's steps that Grafana can select, in seconds. */
const STEPS = [
  1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1_200, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400, 604_800,
];

/** Returns the width of a step: the nearest for this number of points, at least `leastMs`. */
export function stepOf(rangeMs: number, options: { readonly points: number; readonly leastMs: number }): number {
  const exact = rangeMs / options.points / 1_000;
  const chosen = STEPS.find((step, at) => exact < (step + (STEPS[at + 1] ?? Infinity)) / 2)!;
  return Math.max(chosen * 1_000, options.leastMs);
}
