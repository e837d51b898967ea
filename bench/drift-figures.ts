/** Figures of `npm run bench:drift`: where the benches print them, and when one is too much. */
import { figures, sum } from './measure.ts';

/** A ratio above this is too much. */
const LIMIT = 1.1;
/** Number of repeats, and of more repeats if a figure is suspect. */
export const REPEATS = 3;

export interface Figure {
  readonly name: string;
  /** Finds the value in the output of the bench; several values are added. */
  readonly pattern: RegExp;
  /** True if the value is a share of the floor: more is better. Otherwise it is a cost. */
  readonly isShare?: boolean;
  /** True if the output does not have it everywhere. */
  readonly isOptional?: boolean;
  /** Default: LIMIT. Another one needs a reason. */
  readonly limit?: number;
}

export interface Bench {
  readonly name: string;
  /** Flags of Node, as in the script of the package. */
  readonly flags: readonly string[];
  /** Reduced sizes. */
  readonly env: Readonly<Record<string, string>>;
  readonly figures: readonly Figure[];
}

/** Figures of CPU time: the clock of a machine with other programs measures these programs. */
export const BENCHES: readonly Bench[] = [
  {
    name: 'ingest',
    flags: ['--max-semi-space-size=4'],
    env: { ENTRIES: '40000', ROUNDS: '3', BYTES: '1000' },
    figures: [
      { name: 'counted', pattern: /^counted, committed, nothing joined .* ([\d.]+)$/gm, isShare: true },
      { name: 'counted and joined', pattern: /^counted, joined, committed {2}.* ([\d.]+)$/gm, isShare: true },
      { name: 'and all spans', pattern: /^and a trace of every message.* ([\d.]+)$/gm, isShare: true },
      {
        name: 'joined, PostgreSQL',
        pattern: /^counted, joined, committed to PostgreSQL .* ([\d.]+)$/gm,
        isShare: true,
        isOptional: true,
      },
    ],
  },
  {
    name: 'scrape',
    flags: [],
    env: { SERIES: '20000', ROUNDS: '15', MEMORY: 'no' },
    // All ways together, because a scrape of a few milliseconds varies.
    figures: [
      { name: 'nothing changed', pattern: /^opsd\D*[\d.]+ +([\d.]+)/gm },
      { name: 'one in ten changed', pattern: /^opsd\D*(?:[\d.]+ +){6}([\d.]+)/gm },
    ],
  },
  {
    name: 'policy',
    flags: ['--max-semi-space-size=4'],
    env: { ENTRIES: '50000', ROUNDS: '11' },
    figures: [{ name: 'a plan', pattern: /^CPU of one plan: median ([\d.]+) ms/gm }],
  },
  {
    name: 'pages',
    flags: [],
    env: { ENTRIES: '20000', ROUNDS: '60' },
    figures: [{ name: 'all pages', pattern: /^all pages {2}.* CPU ([\d.]+) ms/gm }],
  },
  {
    name: 'start',
    flags: [],
    env: { ROUNDS: '9', MEMORY: 'no' },
    figures: [
      { name: 'with a new store', pattern: /^CPU time of it\n[^]*?^opsd run, with a new store .* ([\d.]+)$/gm },
      {
        name: 'with its previous store',
        pattern: /^CPU time of it\n[^]*?^opsd run, with its previous store .* ([\d.]+)$/gm,
      },
    ],
  },
];

export const USAGE = `usage: npm run bench:drift [-- [REVISION] [BENCH…]]; benches: ${BENCHES.map(({ name }) => name).join(', ')}`;

/** Returns the revision, if there is one, and the benches of the arguments. */
export function readArguments(args: readonly string[]): {
  readonly revision: string | undefined;
  readonly benches: readonly Bench[];
} {
  const named = BENCHES.filter(({ name }) => args.includes(name));
  const [revision, ...others] = args.filter((arg) => !BENCHES.some(({ name }) => name === arg));
  if (others.length > 0 || revision?.startsWith('-') === true) throw new Error(USAGE);
  return { revision, benches: named.length > 0 ? named : BENCHES };
}

/** Returns the value of a figure in the output of a bench; undefined if the output does not have it. */
export function valueIn(output: string, { pattern }: Figure): number | undefined {
  const values = [...output.matchAll(pattern)].map(([, value]) => Number(value));
  return values.length === 0 ? undefined : sum(values);
}

/** Values of a figure, one for each repeat. */
export interface Measured {
  readonly before: number[];
  readonly now: number[];
}

/** Returns for each repeat how many times the earlier cost the figure costs now. */
export function ratios({ isShare = false }: Figure, { before, now }: Measured): number[] {
  return now.map((value, at) => (isShare ? before[at]! / value : value / before[at]!));
}

/** Returns true if the median of the first repeats is above the limit: then the figure is measured once more. */
export function isSuspect(figure: Figure, measured: Measured): boolean {
  const first = ratios(figure, measured).slice(0, REPEATS);
  return first.length > 0 && figures(first).median > (figure.limit ?? LIMIT);
}

/**
 * Returns true if five of six repeats are above the limit. On a machine where a ratio varies by a seventh, this is noise
 * once in 200 figures, and the median of three repeats once in seven.
 */
export function isTooMuch(figure: Figure, measured: Measured): boolean {
  const above = ratios(figure, measured).filter((ratio) => ratio > (figure.limit ?? LIMIT));
  return above.length >= 2 * REPEATS - 1;
}

/** Returns the cells of a row: bench, figure, before, now, ratio, verdict. */
export function row(bench: Bench, figure: Figure, measured: Measured): readonly string[] {
  const all = ratios(figure, measured);
  if (all.length === 0) return [bench.name, figure.name, '-', '-', '-', ''];
  const [before, now] = [figures(measured.before).median, figures(measured.now).median];
  const { median, min, max } = figures(all);
  const ratio = `${median.toFixed(2)} (${min.toFixed(2)} to ${max.toFixed(2)})`;
  return [bench.name, figure.name, shown(before), shown(now), ratio, isTooMuch(figure, measured) ? 'too much' : ''];
}

function shown(value: number): string {
  return String(Number(value.toPrecision(3)));
}
