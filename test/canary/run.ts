/**
 * Prints the confusion table of canaries: each cause alone and in pairs, at both sizes. The exit code is 1 after a wrong
 * verdict, or if too many verdicts of single causes are unknown.
 *
 * Usage: npm run canary:matrix -- [--seeds NUMBER] [--pairs NUMBER] [--only TEXT] [--log]
 *
 * `--seeds`: runs of each single cause. `--pairs`: number of pairs, chosen by chance; default: all.
 */
import { parseArgs } from 'node:util';
import { pairs, singles, some, type Case } from './causes.ts';
import { runCases, type Result } from './matrix.ts';
import { confusionTable, deviations, summary, tally } from './table.ts';

/** Largest share of single causes whose verdict may be unknown. */
const MOST_UNKNOWN = 0.05;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '3' },
    only: { type: 'string', default: '' },
    pairs: { type: 'string' },
    log: { type: 'boolean', default: false },
  },
});
const isMeant = ({ causes }: Case): boolean => causes.some(({ name }) => name.includes(values.only));
const seeds = Array.from({ length: Number(values.seeds) }, (_, seed) => seed + 1);

const one = await run('single causes', singles(seeds).filter(isMeant));
const two = await run('pairs of causes', some(pairs(1).filter(isMeant), Number(values.pairs ?? Infinity)));

const { wrong, unknown, cases } = tally(one);
const isGood = wrong.length + tally(two).wrong.length === 0 && unknown.length <= MOST_UNKNOWN * cases;
process.stdout.write(isGood ? '\nGood: no canary blamed anyone wrongly.\n' : '\nNot good: see the deviations above.\n');
process.exit(isGood ? 0 : 1);

async function run(what: string, all: readonly Case[]): Promise<readonly Result[]> {
  if (all.length === 0) return [];
  const results: Result[] = [];
  const started = performance.now();
  await runCases(all, (result) => {
    results.push(result);
    if (process.stderr.isTTY) process.stderr.write(`\r${results.length}/${all.length} `);
    if (values.log) process.stdout.write(`${result.log.join('')}\n`);
  });
  const seconds = ((performance.now() - started) / 1_000).toFixed(0);
  process.stdout.write(`\n${summary(what, results)}, ${seconds} s\n\n${confusionTable(results)}\n\n`);
  const list = deviations(results);
  if (list !== '') process.stdout.write(`${list}\n`);
  return results;
}
