/** The guard against slow drift: which figure is too much, and a whole run over a repository with a bench of its own. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  BENCHES,
  isSuspect,
  isTooMuch,
  ratios,
  readArguments,
  row,
  USAGE,
  valueIn,
} from '../../bench/drift-figures.ts';
import { start, type Program } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const DRIFT = join(import.meta.dirname, '../../bench/drift.ts');
const names = (args: readonly string[]): string[] => readArguments(args).benches.map(({ name }) => name);

describe('the arguments', () => {
  test('are a revision and benches, both optional', () => {
    const all = ['ingest', 'scrape', 'policy', 'pages', 'start'];
    expect(names([])).toEqual(all);
    expect(readArguments([]).revision).toBeUndefined();
    expect(names(['v1.0.0'])).toEqual(all);
    expect(readArguments(['v1.0.0', 'scrape']).revision).toBe('v1.0.0');
    expect(names(['start', 'scrape', 'v1.0.0'])).toEqual(['scrape', 'start']);
  });

  test.each([['v1.0.0', 'v1.1.0'], ['--help']])('%j are rejected with the usage', (...args) => {
    expect(() => readArguments(args)).toThrow(USAGE);
  });
});

describe('a figure', () => {
  test('is the ratio of its costs; a share of the floor is the inverse of a cost', () => {
    const measured = { before: [10, 20], now: [11, 15] };
    expect(ratios({ name: 'a', pattern: /./ }, measured)).toEqual([1.1, 0.75]);
    expect(ratios({ name: 'a', pattern: /./, isShare: true }, measured)).toEqual([10 / 11, 20 / 15]);
  });

  const of = (all: readonly number[]) => ({ before: all.map(() => 1), now: [...all] });
  const figure = { name: 'plan', pattern: /./ };

  test('is suspect if the median of the first three repeats is above the limit', () => {
    expect(isSuspect(figure, of([]))).toBe(false);
    expect(isSuspect(figure, of([1.11, 0.5, 1.11]))).toBe(true);
    expect(isSuspect(figure, of([1.1, 1.1, 9]))).toBe(false);
    expect(isSuspect(figure, of([1.11, 1.11, 1, 1, 1]))).toBe(true);
    expect(isSuspect({ ...figure, limit: 1.2 }, of([1.2, 1.2, 1.2]))).toBe(false);
  });

  test('is too much if five of six repeats are', () => {
    expect(isTooMuch(figure, of([2, 2, 2]))).toBe(false);
    expect(isTooMuch(figure, of([1.11, 1.11, 1, 1.11, 1.11, 1.11]))).toBe(true);
    expect(isTooMuch(figure, of([1.11, 1.11, 1.1, 1.11, 1.1, 1.11]))).toBe(false);
    expect(isTooMuch({ ...figure, limit: 1.2 }, of([1.2, 1.2, 1.2, 1.2, 1.2, 1.2]))).toBe(false);
  });

  test('has a row with medians and the spread, also if the earlier code does not have it', () => {
    const [bench] = BENCHES;
    const values = { before: [100, 100, 100, 100, 100, 100], now: [120, 90, 130, 120, 120, 120] };
    expect(row(bench!, figure, values)).toEqual(['ingest', 'plan', '100', '120', '1.20 (0.90 to 1.30)', 'too much']);
    expect(row(bench!, figure, { before: [], now: [] }).slice(2)).toEqual(['-', '-', '-', '']);
  });

  test('of a scrape is the sum of all ways', () => {
    const output = `prom-client       160.19   75.22  135.09    1.00    1.00  105.36   60.74   92.98    1.00    1.00   2.45 MB
opsd               28.51    5.75   21.61   13.08    6.25   35.65   10.80   17.66    5.62    5.26   2.49 MB
opsd, gzip         15.44    5.76    4.05   13.06   33.38   34.91   11.90    8.35    5.10   11.14   0.09 MB`;
    const { figures } = BENCHES.find(({ name }) => name === 'scrape')!;
    expect(figures.map((one) => valueIn(output, one))).toEqual([5.75 + 5.76, 10.8 + 11.9]);
  });

  test('of the start is its CPU time, not its time', () => {
    const output = `start to first scrape, 1 rounds          median     min     max  x floor
opsd run, with a new store             429 ms  387 ms  686 ms  1.88
opsd run, with its previous store      440 ms  381 ms  468 ms  1.93
CPU time of it
opsd run, with a new store             201 ms  190 ms  301 ms  1.66
opsd run, with its previous store      216 ms  191 ms  245 ms  1.78
Alertmanager (peer)                     78 ms   59 ms   88 ms  0.65
`;
    const { figures } = BENCHES.find(({ name }) => name === 'start')!;
    expect(figures.map((one) => valueIn(output, one))).toEqual([1.66, 1.78]);
  });
});

describe('a run', () => {
  const PRINT = 'console.log(`CPU of one plan: median ${cost} ms`);';
  const BENCH = `import { cost } from '../cost.ts';\n${PRINT}`;

  /** Returns a repository whose tag v1.0.0 costs 100, and then one more commit. */
  function repository(): { readonly folder: string; readonly temporary: string; git(...args: string[]): string } {
    const folder = tempDir();
    const git = (...args: string[]): string =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.example', ...args], {
        cwd: folder,
        encoding: 'utf8',
        stdio: 'pipe',
      });
    git('init', '-q');
    mkdirSync(join(folder, 'bench'));
    writeFileSync(join(folder, 'package.json'), '{ "name": "a", "version": "1.0.0", "type": "module" }');
    const lock = { name: 'a', version: '1.0.0', lockfileVersion: 3, packages: { '': { name: 'a', version: '1.0.0' } } };
    writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock));
    writeFileSync(join(folder, 'bench/policy.ts'), BENCH);
    writeFileSync(join(folder, 'cost.ts'), 'export const cost = 100;\n');
    git('add', '.');
    git('commit', '-qm', 'first');
    git('tag', 'v1.0.0');
    git('commit', '-qm', 'second', '--allow-empty');
    return { folder, temporary: tempDir(), git };
  }

  function drift({ folder, temporary }: ReturnType<typeof repository>, ...args: string[]): Program {
    return start(process.execPath, [DRIFT, ...args], { cwd: folder, env: { TMPDIR: temporary } });
  }

  test('compares the last tag with files that are not committed, six times if that is too much', async () => {
    const of = repository();
    writeFileSync(join(of.folder, 'cost.ts'), "export { cost } from './other.ts';\n");
    writeFileSync(join(of.folder, 'other.ts'), 'export const cost = 120;\n');
    const status = of.git('status', '--porcelain');
    const run = await drift(of, 'policy').output();
    expect(run.stdout).toContain('| bench | figure | v1.0.0 | now |');
    expect(run.stdout).toContain('| policy | a plan | 100 | 120 | 1.20 (1.20 to 1.20) | too much |');
    expect(run.stderr).toContain('too slow against the code before: policy: a plan');
    expect(run.stderr.match(/^policy, \w+$/gm)!.map((line) => line.slice(8))).toEqual([
      'before',
      'now',
      'now',
      'before',
      'before',
      'now',
      'now',
      'before',
      'before',
      'now',
      'now',
      'before',
    ]);
    expect(run.code).toBe(1);
    expect(of.git('status', '--porcelain')).toBe(status);
    expect(readdirSync(of.temporary)).toEqual([]);
  });

  test('measures the earlier code with the benches of now, or with its own ones, and says so', async () => {
    const of = repository();
    writeFileSync(join(of.folder, 'bench/policy.ts'), BENCH.replace('${cost}', '${cost * 2}'));
    const same = await drift(of, 'v1.0.0', 'policy').output();
    expect(same.stdout).toContain('| policy | a plan | 200 | 200 | 1.00 (1.00 to 1.00) |  |');
    expect(same.stdout).not.toContain('own benches');
    expect(same.code).toBe(0);
    writeFileSync(join(of.folder, 'bench/policy.ts'), `import '../new.ts';\n${BENCH}`);
    writeFileSync(join(of.folder, 'new.ts'), '');
    const own = await drift(of, 'v1.0.0', 'policy').output();
    expect(own.stderr).toMatch(/^policy: the bench of now cannot measure the code before: Error.*new\.ts.*$/m);
    expect(own.stdout).toContain('measured by their own benches before: policy');
    expect(own.code).toBe(0);
  });

  test('has rows without figures for a bench that the earlier code does not have', async () => {
    const of = repository();
    const print = "console.log('all pages   5.0 ms  CPU 1.00 ms  1 kB');";
    writeFileSync(join(of.folder, 'bench/pages.ts'), `import '../new.ts';\n${print}`);
    writeFileSync(join(of.folder, 'new.ts'), '');
    const run = await drift(of, 'pages').output();
    expect(run.stdout).toContain('| pages | all pages | - | - | - |  |');
    expect(run.code).toBe(0);
  });

  test('fails if a bench does not print a figure', async () => {
    const of = repository();
    writeFileSync(join(of.folder, 'bench/policy.ts'), 'console.log("nothing");');
    const run = await drift(of, 'policy').output();
    expect(run.stderr).toContain('policy: the figure "a plan" is not in the output:\nnothing');
    expect(run.code).toBe(1);
  });

  test('without a tag says what to do', async () => {
    const of = repository();
    of.git('tag', '--delete', 'v1.0.0');
    const run = await drift(of, 'policy').output();
    expect(run.stderr).toBe('there is no tag before HEAD; compare with a commit: npm run bench:drift -- REVISION\n');
    expect(run.code).toBe(1);
    expect((await drift(of, 'v1.0.0').output()).stderr).toMatch(/^there is no revision v1\.0\.0; compare with /);
    expect(readdirSync(of.temporary)).toEqual([]);
  });

  test('that is stopped ends its bench and removes its files', async () => {
    const of = repository();
    const file = join(of.folder, 'pid');
    const waiting = `import { writeFileSync } from 'node:fs';
      writeFileSync(${JSON.stringify(file)}, String(process.pid));
      setInterval(() => undefined, 1_000);`;
    writeFileSync(join(of.folder, 'bench/policy.ts'), waiting);
    const run = drift(of, 'policy');
    await until({ what: 'the bench to run' }, () => existsSync(file) && readFileSync(file, 'utf8') !== '');
    run.kill('SIGINT');
    expect((await run.ended).code).toBe(130);
    expect(() => process.kill(Number(readFileSync(file, 'utf8')), 0)).toThrow('ESRCH');
    expect(readdirSync(of.temporary)).toEqual([]);
  });
});
