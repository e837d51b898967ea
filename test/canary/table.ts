/** The confusion table of a matrix, as text. */
import { CANARY_VERDICTS, type CanaryVerdict } from '#foundation/domain/canary.ts';
import type { Result } from './matrix.ts';

export type Kind = 'right' | 'unknown' | 'wrong';

/** Judges a result by the truth of its causes. `ok` is right only if each cause lets a canary pass. */
export function kindOf({ case: { causes }, verdict }: Result): Kind {
  if (verdict === undefined) return 'wrong';
  const passes = causes.every(({ truth }) => truth.includes('ok'));
  if (verdict === 'ok') return passes ? 'right' : 'wrong';
  if (causes.some(({ truth }) => truth.includes(verdict))) return 'right';
  // A log without the message hides another cause. The provider must act on both verdicts.
  const isHidden = causes.length > 1 && verdict === 'service';
  if (isHidden && causes.some(({ truth }) => truth.includes('service_reporting'))) return 'right';
  return verdict === 'unknown' ? 'unknown' : 'wrong';
}

export interface Tally {
  readonly cases: number;
  readonly wrong: readonly Result[];
  readonly unknown: readonly Result[];
}

export function tally(results: readonly Result[]): Tally {
  const of = (kind: Kind): readonly Result[] => results.filter((result) => kindOf(result) === kind);
  return { cases: results.length, wrong: of('wrong'), unknown: of('unknown') };
}

const NAMES: Readonly<Record<CanaryVerdict, string>> = {
  ok: 'ok',
  service: 'service',
  account: 'account',
  throttled: 'throttled',
  network: 'network',
  receiver: 'receiver',
  service_reporting: 'reporting',
  unknown: 'unknown',
};

/** Returns the table: a row for each truth, a column for each verdict. Wrong verdicts have an exclamation mark. */
export function confusionTable(results: readonly Result[]): string {
  const columns = [...CANARY_VERDICTS.map((verdict) => NAMES[verdict]), 'none'];
  const rows = Map.groupBy(results, ({ case: { causes } }) =>
    [...new Set(causes.map(({ truth }) => NAMES[truth[0]!]))].toSorted(byColumn).join(' + '),
  );
  const lines = [...rows]
    .toSorted(([one], [other]) => order(one) - order(other))
    .map(([truth, of]) => [
      truth,
      ...columns.map((column) => {
        const here = of.filter(({ verdict }) => (verdict === undefined ? 'none' : NAMES[verdict]) === column);
        if (here.length === 0) return '·';
        return `${here.length}${here.some((result) => kindOf(result) === 'wrong') ? '!' : ''}`;
      }),
      String(of.length),
    ]);
  return aligned([['true cause', ...columns, 'cases'], ...lines]);
}

const byColumn = (one: string, other: string): number => place(one) - place(other);
const place = (name: string): number => Object.values(NAMES).indexOf(name);

/** Single causes first, then pairs, in the order of the verdicts. */
function order(truth: string): number {
  const [one = '', other = ''] = truth.split(' + ');
  return (other === '' ? 0 : 100) + place(one) * 10 + place(other);
}

function aligned(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, at) => Math.max(...rows.map((row) => row[at]!.length)));
  return rows
    .map((row) => row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!))).join('  '))
    .join('\n');
}

/** Returns the result in one line, with the figures that decide. */
export function summary(what: string, results: readonly Result[]): string {
  const { cases, wrong, unknown } = tally(results);
  const share = ((100 * unknown.length) / Math.max(1, cases)).toFixed(1);
  return `${what}: ${cases} cases, ${wrong.length} wrong, ${unknown.length} unknown (${share} %)`;
}

/** Returns a line for each group of equal deviations. */
export function deviations(results: readonly Result[]): string {
  const groups = Map.groupBy(
    results.filter((result) => kindOf(result) !== 'right'),
    (result) => {
      const { causes } = result.case;
      const truth = causes.map((cause) => `${cause.name} [${cause.truth.join(', ')}]`).join(' + ');
      return `${kindOf(result)}: ${result.verdict ?? 'none'} for: ${truth}\n    ${result.reason}`;
    },
  );
  return [...groups]
    .toSorted(([one], [other]) => other.localeCompare(one))
    .map(([text, of]) => {
      const cases = of.map(({ case: { via, size, signed } }) => `${via} ${size}${signed ? ' signed' : ''}`);
      return `${text} (${of.length}: ${[...new Set(cases)].slice(0, 6).join(', ')})`;
    })
    .join('\n');
}
