/** What a rule is, before it is rendered, and the words that expressions share. */
import { GAUGE_RANGE } from './thresholds.ts';

/** critical: pages. warning: for the next morning. none: the heartbeat, which always fires. */
type Severity = 'critical' | 'warning' | 'none';

/** What an alert is about: label `area`, for routes. */
type Area =
  | 'deliveries'
  | 'dlq'
  | 'workflows'
  | 'flow-control'
  | 'spend'
  | 'search'
  | 'api'
  | 'collectors'
  | 'automation'
  | 'daemon';

export interface RecordingRule {
  /** `level:metric:operation`; the level names the labels that are left. */
  readonly record: string;
  readonly expr: string;
  readonly labels?: Readonly<Record<string, string>>;
}

export interface AlertingRule {
  /** Also the name of its runbook. Rules of one name differ in severity, so that the worse one can inhibit the other. */
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly keepFiringFor?: string;
  readonly severity: Severity;
  readonly area: Area;
  /** The rule is in the file of causes and early signs, which teams may leave out. */
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

/**
 * The latest value of a gauge, one for each set of these labels. Not a sum: after a restart at another address the series
 * of before is there too for a while.
 */
export function latest(metric: string, labels: string, offset = ''): string {
  return `max by (${labels}) (last_over_time(${metric}[${GAUGE_RANGE}]${offset && ` offset ${offset}`}))`;
}

/** Ratio as a text such as `14.4 %`. */
export function percent(ratio: number): string {
  return `${Number((ratio * 100).toPrecision(6))} %`;
}

/** Seconds as a text such as `15 min`, in the largest unit that divides them. */
export function duration(seconds: number): string {
  const [unit, size] = Object.entries({ d: 86_400, h: 3_600, min: 60, s: 1 }).find(([, one]) => seconds % one === 0)!;
  return `${seconds / size} ${unit}`;
}

/** An expression over several lines, without the indentation of the source. */
export function promql(parts: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  const lines = String.raw(parts, ...values).split('\n');
  while (lines[0]?.trim() === '') lines.shift();
  while (lines.at(-1)?.trim() === '') lines.pop();
  const indents = lines.filter((line) => line.trim() !== '').map((line) => line.search(/\S/));
  const indent = Math.min(...indents);
  return lines.map((line) => line.slice(indent)).join('\n');
}
