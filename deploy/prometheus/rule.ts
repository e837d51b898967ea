/** Types of rules before they are rendered, and helpers for their expressions and texts. */
import { ofOwners, owned } from './owner.ts';
import { GAUGE_RANGE } from './thresholds.ts';

/** critical: pages. warning: for the next morning. none: the heartbeat, which always fires. */
type Severity = 'critical' | 'warning' | 'none';

/** Subject of an alert: the label `area`, for routes. */
type Area =
  | 'deliveries'
  | 'dlq'
  | 'workflows'
  | 'flow-control'
  | 'spend'
  | 'search'
  | 'api'
  | 'canary'
  | 'collectors'
  | 'automation'
  | 'daemon';

export interface RecordingRule {
  /** `level:metric:operation`; the level names the remaining labels. */
  readonly record: string;
  readonly expr: string;
  readonly labels?: Readonly<Record<string, string>>;
}

export interface AlertingRule {
  /** Name of the alert and of its runbook. Rules of one name differ in severity, so that the critical one can inhibit the warning. */
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly keepFiringFor?: string;
  readonly severity: Severity;
  readonly area: Area;
  /** Set for rules in the optional file of causes and early signs. */
  readonly extended?: true;
  /** Symptom with its labels, number, and limit, in under 80 characters. */
  readonly summary: string;
  /** Consequence and first step. */
  readonly description: string;
}

export interface RecordingGroup {
  readonly name: string;
  readonly interval?: string;
  readonly rules: readonly RecordingRule[];
}

export interface AlertGroup {
  readonly name: string;
  readonly interval?: string;
  readonly rules: readonly AlertingRule[];
}

interface LatestOptions {
  readonly how?: 'max' | 'min';
  readonly offset?: string;
}

/**
 * Returns the latest value of an account's gauge for each set of these labels. The present value comes first: the owner
 * before, or the process at an address before, must not hide it. It is not a sum, because both have a series for a while.
 */
export function latest(metric: string, labels: string, { how = 'max', offset = '' }: LatestOptions = {}): string {
  const at = offset && ` offset ${offset}`;
  const before = owned(
    `last_over_time(${metric}[${GAUGE_RANGE}]${at})`,
    ` offset ${minutes(offset) + minutes(GAUGE_RANGE)}m`,
  );
  return promql`
    (
      ${how} by (${labels}) (${owned(`${metric}${at}`, at)})
      or
      ${how} by (${labels}) (${before})
    )`;
}

function minutes(duration: string): number {
  return Number(duration.slice(0, -1)) * (duration.endsWith('h') ? 60 : 1);
}

/**
 * Returns the latest value of a gauge that has no account: the sum of what each replica has, or the maximum of what all
 * know.
 */
export function latestOfStore(how: 'max' | 'sum', metric: string, labels: string): string {
  return promql`
    (
      ${how} by (${labels}) (${how === 'max' ? ofOwners(metric) : metric})
      or
      ${how} by (${labels}) (last_over_time(${metric}[${GAUGE_RANGE}]))
    )`;
}

/** Returns a ratio as a text such as `14.4 %`. */
export function percent(ratio: number): string {
  return `${Number((ratio * 100).toPrecision(6))} %`;
}

/** Returns seconds as a text such as `15 min`, in the largest unit that divides them. */
export function duration(seconds: number): string {
  const [unit, size] = Object.entries({ d: 86_400, h: 3_600, min: 60, s: 1 }).find(([, one]) => seconds % one === 0)!;
  return `${seconds / size} ${unit}`;
}

/** Returns an expression of several lines without the indentation of the source. A value of several lines is indented. */
export function promql(parts: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  const text = parts.reduce((sofar, part, index) => {
    const indent = /^ */.exec(sofar.slice(sofar.lastIndexOf('\n') + 1))![0];
    return sofar + String(values[index - 1]).replaceAll('\n', `\n${indent}`) + part;
  });
  const lines = text.split('\n');
  while (lines[0]?.trim() === '') lines.shift();
  while (lines.at(-1)?.trim() === '') lines.pop();
  const indents = lines.filter((line) => line.trim() !== '').map((line) => line.search(/\S/));
  const indent = Math.min(...indents);
  return lines.map((line) => line.slice(indent)).join('\n');
}
