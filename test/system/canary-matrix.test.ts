/** The short form of the canary matrix: each cause once, and some pairs. `npm run canary:matrix` runs all of it. */
import { expect, test } from 'vitest';
import { CAUSES, pairs, singles, some, type Case } from '../canary/causes.ts';
import { runCases, type Result } from '../canary/matrix.ts';
import { deviations, kindOf, tally } from '../canary/table.ts';

const MOST_UNKNOWN = 0.05;
const PAIRS = 24;
/** A limit on hanging: the cases need twelve seconds of a processor, which may be busy. */
const TIMEOUT_MS = 300_000;

async function run(cases: readonly Case[]): Promise<readonly Result[]> {
  const results: Result[] = [];
  await runCases(cases, (result) => void results.push(result));
  return results;
}

const wrong = (results: readonly Result[]): string =>
  deviations(results.filter((result) => kindOf(result) === 'wrong'));

test(
  'a canary blames nobody wrongly for any single cause, and rarely knows nothing',
  async () => {
    const sizes = { even: 'small', odd: 'real' } as const;
    const results = await run(
      singles([7]).filter(({ causes: [cause], size }) => {
        return size === sizes[CAUSES.indexOf(cause!) % 2 === 0 ? 'even' : 'odd'];
      }),
    );
    expect(new Set(results.map(({ case: { causes } }) => causes[0]!.name)).size).toBe(CAUSES.length);
    expect(wrong(results)).toBe('');
    const { unknown, cases } = tally(results);
    expect(unknown.length, deviations(results)).toBeLessThanOrEqual(MOST_UNKNOWN * cases);
  },
  TIMEOUT_MS,
);

test(
  'a canary blames nobody else for two causes at the same time',
  async () => {
    const results = await run(some(pairs(7), PAIRS));
    expect(results).toHaveLength(PAIRS);
    expect(wrong(results)).toBe('');
  },
  TIMEOUT_MS,
);
