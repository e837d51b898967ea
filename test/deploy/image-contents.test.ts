/** The checks of the image's files find each planted problem. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { contentsOf } from '../../deploy/image/contents.ts';
import { settingsIn } from '../../deploy/image/npm-settings.ts';
import { tempDir } from '../support/temp-dir.ts';

const ELF = '\u007FELF';
const npm = { npmrc: '', ca: '', secrets: ['canary-of-npm'], hosts: ['registry.internal.example'] };

function bill(...packages: readonly string[]): string {
  const components = packages.map((name) => ({ name, version: '1.0.0', purl: `pkg:npm/${name}@1.0.0` }));
  const others = ['node', 'libc6'].map((name) => ({ name, version: '1', purl: `pkg:generic/${name}@1` }));
  return JSON.stringify({ components: [...others, ...components] });
}

const GOOD = {
  'usr/local/bin/node': ELF,
  'lib/x86_64-linux-gnu/libc.so.6': ELF,
  'lib64/ld-linux-x86-64.so.2': ELF,
  'var/lib/dpkg/status.d/libc6': 'Package: libc6',
  'opt/opsd/package.json': '{}',
  'opt/opsd/sbom.cdx.json': bill('@a/b', 'c'),
  'opt/opsd/dist/THIRD-PARTY-LICENSES.txt':
    'Packages:\n\n@a/b 1.0.0 (MIT)\nc 1.0.0 (Apache-2.0)\n\nVersion 2.0, January\n',
};

/** Returns the problems of an image with these files, by check. */
function wrong(more: Readonly<Record<string, string>>, inspected = '', change?: (root: string) => void) {
  const root = tempDir();
  // The modes are part of what is checked: they must not depend on who runs the tests.
  const before = process.umask(0o022);
  onTestFinished(() => void process.umask(before));
  for (const [path, text] of Object.entries({ ...GOOD, ...more })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  change?.(root);
  const { checks } = contentsOf({ root, inspected, config: {} as never, layers: [] }, npm);
  return checks
    .filter(({ what, wrong }) => wrong !== undefined && !(what.startsWith('only root can') && process.getuid!() !== 0))
    .map(({ what, wrong }) => `${what.split(' ').slice(0, 3).join(' ')}: ${wrong}`);
}

test('regular files have no problem', () => {
  expect(wrong({})).toEqual([]);
});

describe('sees', () => {
  test.each([
    ['a shell', { 'bin/sh': '#!' }, 'the only program: /bin/sh'],
    ['a program', { 'usr/bin/curl': ELF }, 'the only program: /usr/bin/curl'],
    ['a program of a package', { 'opt/opsd/dist/esbuild': ELF }, 'the only program: /opt/opsd/dist/esbuild'],
    [
      'packages beside the bundle',
      { 'opt/opsd/node_modules/c/index.js': '' },
      'all packages are: /opt/opsd/node_modules/c/index.js',
    ],
    ['a source map', { 'opt/opsd/dist/main.cjs.map': '{}' }, 'all packages are: /opt/opsd/dist/main.cjs.map'],
    ['a secret', { 'opt/opsd/x': 'a canary-of-npm b' }, 'no npm setting: /opt/opsd/x'],
    [
      'where packages came from',
      { 'opt/opsd/sbom.cdx.json': bill('@a/b', 'c', 'registry.internal.example') },
      'no npm setting: /opt/opsd/sbom.cdx.json',
    ],
    [
      'a package that is not in the bill',
      { 'opt/opsd/sbom.cdx.json': bill('c') },
      'the bill of: not in both: @a/b@1.0.0',
    ],
    [
      'a package that is in the bill alone',
      { 'opt/opsd/sbom.cdx.json': bill('@a/b', 'c', 'd') },
      'the bill of: not in both: d@1.0.0',
    ],
  ])('%s', (_what, more, found) => {
    expect(wrong(more as Record<string, string>)).toContain(found);
  });

  test('a secret in the history', () => {
    expect(wrong({}, 'RUN npm ci canary-of-npm')).toEqual(['nor is one: it is']);
  });

  test('a file that grants rights, one that others can write, and one that they cannot read', () => {
    const found = wrong({}, '', (root) => {
      chmodSync(join(root, 'usr/local/bin/node'), 0o4755);
      chmodSync(join(root, 'opt/opsd/package.json'), 0o600);
      chmodSync(join(root, 'opt/opsd/sbom.cdx.json'), 0o666);
    });
    expect(found).toEqual(
      expect.arrayContaining(['no file grants: /usr/local/bin/node', 'everyone can read: /opt/opsd/package.json']),
    );
    if (process.getuid!() === 0) expect(found).toContain('only root can: /opt/opsd/sbom.cdx.json');
  });
});

test('npm’s registry settings go into the build, with values of the environment', () => {
  const npmrc = `
; a comment
registry=https://registry.internal.example/
//registry.internal.example/:_authToken = "\${TOKEN}"
@own:registry=https://own.example
prefix=/opt/npm
cafile=/etc/ca.pem
`;
  expect(settingsIn(npmrc, { TOKEN: 's3cr3t' })).toEqual([
    ['registry', 'https://registry.internal.example/'],
    ['//registry.internal.example/:_authToken', 's3cr3t'],
    ['@own:registry', 'https://own.example'],
  ]);
});
