/**
 * Guard against slow drift: benches of an earlier revision and of the working tree, by turns in one session. Without a
 * revision, it is the last tag before HEAD. Fails if a figure costs more than the limit.
 *
 * Both sides are copies in a temporary folder, each with the packages of its own lockfile. So the working tree stays as
 * it is, and a commit in the meantime changes nothing. Node is the same.
 *
 * Both sides are measured by the benches of the working tree, so that they do the same work. If such a bench cannot run
 * the earlier code, that side is measured by its own bench, and the table says so.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  isSuspect,
  isTooMuch,
  readArguments,
  REPEATS,
  row,
  valueIn,
  type Bench,
  type Figure,
  type Measured,
} from './drift-figures.ts';
import { pause } from './measure.ts';

/** Folder of the benches of the working tree, in the earlier code. */
const BENCHES_OF_NOW = 'bench-of-now';
const ENDS_WITHIN_MS = 10_000;

const folder = mkdtempSync(join(tmpdir(), 'opsd-bench-drift-'));
const [before, now] = [join(folder, 'before'), join(folder, 'now')];
/** Benches that cannot run the earlier code. */
const own = new Set<string>();
let child: ChildProcess | undefined;
let isStopped = false;

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    isStopped = true;
    if (child !== undefined) process.kill(-child.pid!, 'SIGTERM');
  });
}

function git(args: readonly string[], env: Readonly<Record<string, string>> = {}): string {
  return execFileSync('git', args, {
    encoding: 'utf8',
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim();
}

/** Returns the commit to compare with. */
function commitOf(revision: string | undefined): string {
  try {
    return git(['rev-parse', '--verify', '--quiet', `${revision ?? lastTag()}^{commit}`]);
  } catch (error) {
    const what = revision === undefined ? 'there is no tag before HEAD' : `there is no revision ${revision}`;
    throw new Error(`${what}; compare with a commit: npm run bench:drift -- REVISION`, { cause: error });
  }
}

function lastTag(): string {
  return git(['describe', '--tags', '--abbrev=0', '--match', 'v*', 'HEAD^']);
}

/** Returns the working tree as a tree of git, with files that are not committed. An index of its own is used. */
function workingTree(): string {
  const index = { GIT_INDEX_FILE: join(folder, 'index') };
  git(['add', '--all', ':/'], index);
  return git(['write-tree'], index);
}

/** Copies a tree, and installs its packages. */
async function install(tree: string, to: string): Promise<void> {
  mkdirSync(to);
  const archive = join(folder, 'archive.tar');
  git(['archive', '--output', archive, tree]);
  execFileSync('tar', ['-xf', archive, '-C', to]);
  await run('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund'], { cwd: to });
}

interface RunOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a program in a process group of its own, and returns its output. Ends what it leaves behind. */
async function run(command: string, args: readonly string[], { cwd, env }: RunOptions): Promise<string> {
  if (isStopped) throw new Error('stopped');
  // The temporary files of a bench that is stopped are removed with the folder.
  const variables = { ...process.env, ...env, TMPDIR: folder };
  const started = spawn(command, args, { cwd, env: variables, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  child = started;
  let [output, errors] = ['', ''];
  started.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  started.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const closed = new Promise((resolve) => started.once('close', resolve));
  const code = await new Promise<number | null>((resolve, reject) => {
    started.once('error', reject);
    started.once('exit', resolve);
  });
  await endGroup(started.pid!);
  child = undefined;
  // Nothing holds the pipes any more.
  await closed;
  if (isStopped) throw new Error('stopped');
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${String(code)}: ${errors.slice(-2_000)}`);
  return output;
}

async function endGroup(group: number): Promise<void> {
  const killAt = performance.now() + ENDS_WITHIN_MS;
  try {
    for (process.kill(-group, 'SIGTERM'); ; await pause(50))
      process.kill(-group, performance.now() < killAt ? 0 : 'SIGKILL');
  } catch {
    // No process is left.
  }
}

/** Runs a bench over the code of a side. */
async function runBench({ name, flags, env }: Bench, side: string): Promise<string> {
  const program = join(side, side === now || own.has(name) ? 'bench' : BENCHES_OF_NOW, `${name}.ts`);
  // The earlier code may have no such bench.
  if (!existsSync(program)) return '';
  console.error(`${name}, ${side === now ? 'now' : 'before'}`);
  return run(process.execPath, [...flags, program], { cwd: side, env });
}

/** Runs a bench over the earlier code. Its first run decides whose bench that is. */
async function runEarlier(bench: Bench, isFirst: boolean): Promise<string> {
  try {
    return await runBench(bench, before);
  } catch (error) {
    if (isStopped || !isFirst) throw error;
    console.error(`${bench.name}: the bench of now cannot measure the code before: ${reasonOf(error)}`);
    own.add(bench.name);
    return runBench(bench, before);
  }
}

/** Returns the line of an output that names the error. */
function reasonOf(error: unknown): string {
  const text = String(error);
  return /^\w*Error.*: .*$/m.exec(text.slice(text.indexOf('\n')))?.[0] ?? text;
}

/** Measures a bench by turns, each side first in turn. */
async function measure(bench: Bench): Promise<ReadonlyMap<Figure, Measured>> {
  const all = new Map<Figure, Measured>(bench.figures.map((figure) => [figure, { before: [], now: [] }]));
  const isAnySuspect = (): boolean => [...all].some(([figure, values]) => isSuspect(figure, values));
  for (let repeat = 0; repeat < REPEATS || (repeat < 2 * REPEATS && isAnySuspect()); repeat++) {
    const outputs = { before: '', now: '' };
    if (repeat % 2 === 0) outputs.before = await runEarlier(bench, repeat === 0);
    outputs.now = await runBench(bench, now);
    if (repeat % 2 === 1) outputs.before = await runEarlier(bench, false);
    for (const [figure, values] of all) {
      const [then, value] = [valueIn(outputs.before, figure), valueIn(outputs.now, figure)];
      if (value === undefined && figure.isOptional !== true)
        throw new Error(`${bench.name}: the figure "${figure.name}" is not in the output:\n${outputs.now}`);
      if (then === undefined || value === undefined) continue;
      values.before.push(then);
      values.now.push(value);
    }
  }
  return all;
}

async function main(): Promise<void> {
  const { revision, benches } = readArguments(process.argv.slice(2));
  const commit = commitOf(revision);
  await install(workingTree(), now);
  await install(commit, before);
  cpSync(join(now, 'bench'), join(before, BENCHES_OF_NOW), { recursive: true });
  const tooMuch: string[] = [];
  console.log(
    `| bench | figure | ${git(['describe', '--tags', '--always', commit])} | now | ratio of cost, median (range) | |\n|---|---|---|---|---|---|`,
  );
  for (const bench of benches) {
    for (const [figure, values] of await measure(bench)) {
      console.log(`| ${row(bench, figure, values).join(' | ')} |`);
      if (isTooMuch(figure, values)) tooMuch.push(`${bench.name}: ${figure.name}`);
    }
  }
  if (own.size > 0) console.log(`measured by their own benches before: ${[...own].join(', ')}`);
  if (tooMuch.length > 0) throw new Error(`too slow against the code before: ${tooMuch.join('; ')}`);
}

try {
  await main();
} catch (error) {
  process.exitCode = isStopped ? 130 : 1;
  console.error(error instanceof Error ? error.message : error);
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}
