/** The manifest of the packed package, and its exchange for the time of a pack. The system test packs for real. */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { packedManifest } from '../../deploy/package/manifest.ts';
import { replaceManifest, restoreManifest } from '../../deploy/package/pack.ts';
import { licensesText, thirdPartiesOf } from '../../deploy/package/third-party.ts';
import { tempDir } from '../support/temp-dir.ts';

const ROOT = join(import.meta.dirname, '../..');
const project = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<string, unknown>;
const NEEDED = (project['engines'] as { readonly node: string }).node.replace('>=', '');

test('the packed manifest has only what its users need', () => {
  const packed = packedManifest(project);
  const { name, version, type, engines } = project;
  expect(packed).toMatchObject({ name, version, type, engines, license: 'MIT', bin: { opsd: 'dist/opsd.js' } });
  const needed = Object.keys(packed).filter((key) => !/^(?:homepage|repository|bugs|keywords|author)$/.test(key));
  expect(needed.toSorted()).toEqual(
    [
      'bin',
      'description',
      'engines',
      'exports',
      'files',
      'license',
      'name',
      'publishConfig',
      'type',
      'version',
    ].toSorted(),
  );
});

test('a pack replaces the manifest, and restores it byte by byte', () => {
  const root = tempDir();
  const path = join(root, 'package.json');
  const text = JSON.stringify(project, undefined, 4);
  writeFileSync(path, text);

  replaceManifest(root);
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(packedManifest(project));
  restoreManifest(root);
  expect(readFileSync(path, 'utf8')).toBe(text);
  expect(readdirSync(root)).toEqual(['package.json']);
});

test('the next pack after an interrupted one keeps the project’s manifest', () => {
  const root = tempDir();
  const path = join(root, 'package.json');
  writeFileSync(path, JSON.stringify(project));

  replaceManifest(root);
  replaceManifest(root);
  restoreManifest(root);
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(project);
});

test('a manifest that git restored after an interrupted pack stays, with later changes', () => {
  const root = tempDir();
  const path = join(root, 'package.json');
  writeFileSync(path, JSON.stringify(project));
  replaceManifest(root);
  const restored = JSON.stringify({ ...project, version: '9.9.9' });
  writeFileSync(path, restored);

  restoreManifest(root);
  expect(readFileSync(path, 'utf8')).toBe(restored);
  expect(readdirSync(root)).toEqual(['package.json']);

  replaceManifest(root);
  restoreManifest(root);
  expect(readFileSync(path, 'utf8')).toBe(restored);
});

test.each(['0.10.48', '12.22.12', '22.22.0', '24.0.0', '24.14.9'])('Node %s is too old', (node) => {
  expect(launch(node)).toEqual({
    exitCode: 1,
    stderr: `opsd requires Node ${NEEDED} or newer; this is Node ${node}.\n`,
    caches: [],
  });
});

test.each(['24.15.0', '25.0.0', '100.1.0'])('Node %s is new enough', (node) => {
  // The exit code of a program that ends before its command does.
  expect(launch(node)).toMatchObject({ exitCode: 13, stderr: '' });
});

test('the library states which Node it needs, also to a Node that cannot parse its parts', () => {
  const text = readFileSync(join(ROOT, 'deploy/package/emulator.cjs'), 'utf8');
  const loadedBy = (node: string): unknown => {
    const exports = {};
    runInNewContext(text, { process: { versions: { node } }, exports, require: () => ({ startEmulator: node }) });
    return exports;
  };
  for (const node of ['12.22.12', '20.20.2', '24.14.9']) {
    expect(() => loadedBy(node)).toThrow(
      `msgsvc-opsd/emulator requires Node ${NEEDED} or newer; this is Node ${node}.`,
    );
  }
  expect(loadedBy('24.15.0')).toEqual({ startEmulator: '24.15.0' });
});

test('the compile cache is in a folder that only its user can write', () => {
  const home = tempDir();
  expect(launch('24.15.0', { home }).caches).toEqual([join(home, '.cache/opsd')]);
  expect(statSync(join(home, '.cache/opsd')).mode & 0o777).toBe(0o700);
  expect(launch('24.15.0', { home }).caches).toEqual([join(home, '.cache/opsd')]);
  expect(launch('24.15.0', { home, uid: process.getuid!() + 1 }).caches).toEqual([]);
  expect(launch('24.15.0', { home: join(home, 'absent') }).caches).toEqual([]);
  const caches = tempDir();
  expect(launch('24.15.0', { home, env: { XDG_CACHE_HOME: caches } }).caches).toEqual([join(caches, 'opsd')]);
  expect(launch('24.15.0', { home, env: { NODE_COMPILE_CACHE: '/elsewhere' } }).caches).toEqual([]);
  const unused = tempDir();
  expect(launch('24.15.0', { home: unused, env: { NODE_DISABLE_COMPILE_CACHE: '1' } }).caches).toEqual([]);
  expect(readdirSync(unused)).toEqual([]);
});

interface Launcher {
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
  readonly uid: number;
}

/** Runs the first file of the program as a Node of this version would, without the program itself. */
function launch(node: string, { home = tempDir(), env = {}, uid = process.getuid!() }: Partial<Launcher> = {}) {
  let stderr = '';
  const caches: string[] = [];
  const modules: Readonly<Record<string, object>> = {
    'node:fs': { existsSync, mkdirSync, statSync },
    'node:os': { homedir: () => home },
    'node:module': { enableCompileCache: (folder: string) => void caches.push(folder) },
  };
  const process = {
    versions: { node },
    argv: ['node', 'opsd', 'version'],
    env,
    getuid: () => uid,
    stderr: { write: (text: string) => (stderr += text) },
    exitCode: undefined as number | undefined,
    getBuiltinModule: (name: string) => modules[name],
  };
  const text = readFileSync(join(ROOT, 'src/opsd.js'), 'utf8')
    .replace(/^#!.*/, '')
    .replace(/import\(.*\)/, 'void 0');
  runInNewContext(text, { process });
  return { exitCode: process.exitCode, stderr, caches };
}

test('each package in the bundle is listed once, with its license', () => {
  const files = ['zod/v4/index.js', 'zod/v4/core.js', '@opentelemetry/api/index.js'];
  const found = thirdPartiesOf(files.map((path) => join(ROOT, 'node_modules', path)));
  expect(found.map(({ name, license }) => [name, license])).toEqual([
    ['@opentelemetry/api', 'Apache-2.0'],
    ['zod', 'MIT'],
  ]);
  const text = licensesText(found);
  expect(text).toContain(`zod ${found[1]!.version} (MIT)`);
  expect(text).toContain('Permission is hereby granted, free of charge');
  expect(text).toContain('Apache License');
});

test('a license can be a section of the README', () => {
  const [found] = thirdPartiesOf([join(ROOT, 'node_modules/pg-types/index.js')]);
  expect(found!.texts).toHaveLength(1);
  expect(found!.texts[0]).toMatch(/^license\s+The MIT License.*Permission is hereby granted.*SOFTWARE\.$/s);
});

test.each([
  ['a license file', { license: 'MIT' }, []],
  ['a license', {}, ['LICENSE']],
])('a package without %s stops the build', (_what, manifest, files) => {
  const folder = join(tempDir(), 'node_modules/nothing');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'nothing', version: '1.0.0', ...manifest }));
  for (const file of files) writeFileSync(join(folder, file), 'Permission is hereby granted');
  expect(() => thirdPartiesOf([join(folder, 'index.js')])).toThrow(
    `the package nothing has no license or no license file: ${folder}`,
  );
});
