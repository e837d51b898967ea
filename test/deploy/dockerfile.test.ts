/** Checks of the Dockerfile by common platform rules, without building it. test/system/image.test.ts builds it. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { healthUrl } from '../../deploy/image/health.ts';
import { parseConfig } from '#config/load.ts';
import { dockerfileProblems, instructions } from './dockerfile.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const dockerfile = read('Dockerfile');
const said = instructions(dockerfile);
const all = (name: string): string[] => said.filter((found) => found.name === name).map(({ text }) => text);
const manifest = JSON.parse(read('package.json')) as {
  readonly version: string;
  readonly scripts: { readonly start: string };
  readonly optionalDependencies: Readonly<Record<string, string>>;
};

/** The values of ENV in the last stage. */
const env = Object.fromEntries(
  all('ENV')
    .at(-1)!
    .split(/\s+/)
    .map((pair) => pair.split('=') as [string, string]),
);

test('no rule rejects it', () => {
  expect(dockerfileProblems(dockerfile)).toEqual([]);
});

describe('refuses', () => {
  test.each([
    ['an ADD', /^COPY src/m, 'ADD https://x.example/a /a\nCOPY src', 'ADD: COPY says what it does'],
    ['a base that moves', /24\.\d+\.\d+-bookworm/, '24-bookworm', 'FROM ${NODE_IMAGE}: the base has no whole version'],
    [
      'the name of a registry',
      /=node:/,
      '=registry.example/node:',
      'FROM ${NODE_IMAGE}: the base has no whole version',
    ],
    ['a fixed base', '${NODE_IMAGE} AS', 'node:24.21.0 AS', 'FROM node:24.21.0: the base is no argument'],
    ['another last base', 'FROM scratch', 'FROM ${NODE_IMAGE}', 'the last stage begins with somebody else’s files'],
    ['a command in the last stage', 'USER 65532', 'RUN id\nUSER 65532', 'the last stage needs a shell'],
    ['root', 'USER 65532:65532', 'USER 0:0', 'USER is not numeric, or is root'],
    ['a user by name', 'USER 65532:65532', 'USER opsd', 'USER is not numeric, or is root'],
    ['a shell before the program', /^ENTRYPOINT .*$/m, 'ENTRYPOINT node src', 'ENTRYPOINT is not in the exec form'],
    ['a shell in the health check', /^ {2}CMD .*$/m, '  CMD node x', 'HEALTHCHECK is not in the exec form'],
    ['a label that is not there', 'image.revision=', 'image.other=', 'no label revision'],
    ['one architecture', 'COPY src', 'COPY x86_64 src', 'it names an architecture'],
    ['a secret that stays', 'COPY src', 'ARG NPM_TOKEN\nCOPY src', 'a secret would stay in the history'],
  ])('%s', (_what, from, to, problem) => {
    const other = dockerfile.replace(from, () => to);
    expect(other).not.toBe(dockerfile);
    expect(dockerfileProblems(other)).toContain(problem);
  });
});

test('it names the version of the package, and the Node version that the package includes', () => {
  expect(all('ARG')).toContain(`VERSION=${manifest.version}`);
  for (const version of Object.values(manifest.optionalDependencies))
    expect(all('ARG')).toContain(`NODE_IMAGE=node:${version}-bookworm-slim`);
});

test('the allocator has the settings of npm start', () => {
  const [, settings] = /^((?:MALLOC_\S+ )+)exec node /.exec(manifest.scripts.start)!;
  for (const setting of settings!.trim().split(' ')) expect(all('ENV').at(-1)!.split(/\s+/)).toContain(setting);
});

test('Node reads no compiled code from the volume', () => {
  expect(env['NODE_DISABLE_COMPILE_CACHE']).toBe('1');
});

test('copied files exist and are in the context, and nothing else is in it', () => {
  const ignored = read('.dockerignore').split('\n');
  expect(ignored[0]).toBe('*');
  const copied = all('COPY')
    .filter((text) => !text.startsWith('--from'))
    .flatMap((text) => text.split(' ').slice(0, -1));
  for (const path of copied) expect(existsSync(join(ROOT, path)), path).toBe(true);
  const admitted = ignored.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
  expect(admitted.filter((path) => !['deploy', 'deploy/image'].includes(path)).sort()).toEqual(
    copied.filter((path) => !['emulator', 'src'].some((folder) => path.startsWith(`${folder}/`))).sort(),
  );
});

test('restarts of unhealthy containers wait as long as Kubernetes does: for a change of the store, and for a reload', () => {
  const probe = (name: string): Record<string, number> => {
    const [, text] = new RegExp(`${name}Probe:\\n((?: {12}.*\\n)+)`).exec(
      read('deploy/kubernetes/base/deployment.yaml'),
    )!;
    return Object.fromEntries([...text!.matchAll(/(\w+): (\d+)$/gm)].map(([, key, value]) => [key, Number(value)]));
  };
  const [startup, liveness] = [probe('startup'), probe('liveness')];
  const flag = (name: string): string => new RegExp(`--${name}=(\\w+)`).exec(all('HEALTHCHECK')[0]!)![1]!;
  expect(flag('start-period')).toBe(`${startup['periodSeconds']! * startup['failureThreshold']!}s`);
  expect([flag('interval'), flag('retries'), flag('timeout')]).toEqual([
    `${liveness['periodSeconds']}s`,
    String(liveness['failureThreshold']),
    `${liveness['timeoutSeconds']}s`,
  ]);
});

test('without settings in the configuration the daemon listens and keeps state where the image says, and the health check asks there', () => {
  const loaded = parseConfig('accounts: [{ name: m, url: "https://x.example", token: t }]', {
    env,
    file: 'x',
    baseDir: ROOT,
  });
  // IPv6 or IPv4: pods may have only addresses of one kind.
  const host = '::';
  expect(loaded).toMatchObject({
    ok: true,
    config: {
      server: { listen: { host, port: 10_777 }, probes: { listen: { host, port: 10_779 } } },
      storage: { sqlite: { path: '/var/lib/opsd/opsd.db' } },
    },
  });
  expect(all('EXPOSE')).toEqual(['10777 10778 10779']);
  expect(all('HEALTHCHECK')[0]).toContain('CMD ["node", "health.js"]');
  const words = ['ENTRYPOINT', 'CMD'].flatMap((name) => JSON.parse(all(name)[0]!) as string[]);
  expect(healthUrl(words, env)).toBe('http://127.0.0.1:10779/-/healthy');
  expect(all('VOLUME')).toEqual(['/var/lib/opsd']);
  // buildah drops it from any format but Docker's.
  const building = read('docs/image.md')
    .split('\n')
    .filter((line) => line.startsWith('buildah build '));
  expect(building.length).toBeGreaterThan(0);
  for (const line of building) expect(line).toContain('--format docker');
  expect(all('CMD').map((text) => JSON.parse(text) as unknown)).toEqual([['run', '--config', env['OPSD_CONFIG']]]);
});
