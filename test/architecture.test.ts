/** The rooms and the arrows between them, as data: what a file may import, and what it may not touch. */
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { describe, expect, test } from 'vitest';

const SRC = join(import.meta.dirname, '../src');

/** What each room may import besides itself, npm and `node:`. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  // The event union (events.ts) speaks the domain's words; the domain is pure, so no circle can come of it.
  platform: ['domain'],
  client: ['domain', 'platform'],
  collectors: ['domain', 'platform', 'client', 'folds'],
  folds: ['domain', 'platform'],
  observations: ['domain', 'platform'],
  exporters: ['domain', 'platform', 'folds', 'observations'],
  policies: ['domain'],
  guardrails: ['domain'],
  actions: ['domain', 'platform', 'client'],
  ledger: ['domain', 'platform'],
  notifications: ['domain', 'platform'],
  engine: ['domain', 'platform', 'observations', 'policies', 'guardrails', 'actions', 'ledger'],
  // Unit tests of policies: the engine over a service without a network and a ledger in memory.
  harness: ['domain', 'platform', 'observations', 'policies', 'guardrails', 'actions', 'engine', 'ledger', 'storage'],
  storage: ['domain', 'platform', 'folds', 'observations', 'ledger', 'notifications'],
  scheduler: ['platform'],
  server: ['domain', 'platform', 'observations', 'ledger'],
  config: ['domain', 'platform', 'policies'],
  cli: [
    'domain',
    'platform',
    'config',
    'client',
    'emulator',
    'policies',
    'guardrails',
    'engine',
    'harness',
    'exporters',
    'ledger',
    // `opsd state restore` replaces the store while no daemon has it.
    'storage',
  ],
  emulator: ['platform'],
};

/** The composition root and the process may import everything. */
const ROOTS = [
  'app.ts',
  'app-accounts.ts',
  'app-doors.ts',
  'app-hooks.ts',
  'app-policies.ts',
  'app-reload.ts',
  'app-upkeep.ts',
  'main.ts',
];

/** Rooms that cannot reach the network or the machine. */
const PURE_ROOMS = ['domain', 'policies', 'guardrails'];

/** The expression language and its patterns, which cannot backtrack, are all that the pure rooms use. */
const PURE_PACKAGES = ['@marcbachmann/cel-js', '@marcbachmann/cel-js/evaluator', 're2js'];

/** Machine time and timers belong to `platform/`, which hands them out as a Clock. */
const MACHINE_TIME =
  /\bDate\.now\b|\bnew Date\(\)|\bsetTimeout\b|\bsetInterval\b|\bAbortSignal\.timeout\b|\bperformance\.now\b|node:timers/;

const IMPORT = /\b(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]|\bimport\s*\(?\s*['"]([^'"]+)['"]/g;

interface SourceFile {
  readonly path: string;
  readonly room: string;
  readonly text: string;
  readonly imports: readonly string[];
}

function sourceFiles(): SourceFile[] {
  return readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => {
      const text = readFileSync(join(SRC, path), 'utf8');
      const room = path.includes('/') ? path.slice(0, path.indexOf('/')) : '';
      return { path, room, text, imports: importsOf(text) };
    });
}

function importsOf(text: string): string[] {
  return [...text.matchAll(IMPORT)].map((match) => match[1] ?? match[2]!);
}

/** What is wrong with a file, a line each. */
function violations(file: SourceFile): string[] {
  const wrong: string[] = [];
  const isSettings = file.path.endsWith('settings.ts');
  if (file.room === '' && !ROOTS.includes(file.path))
    wrong.push(`${file.path}: only ${ROOTS.join(' and ')} live at the top`);
  if (file.room !== '' && ROOMS[file.room] === undefined) wrong.push(`${file.path}: unknown room ${file.room}`);
  for (const specifier of file.imports) {
    if (!specifier.startsWith('.')) {
      const pure = PURE_ROOMS.includes(file.room) && !isSettings;
      if (pure && !PURE_PACKAGES.includes(specifier))
        wrong.push(`${file.path}: ${file.room}/ may not import ${specifier}`);
      continue;
    }
    if (specifier.endsWith('.js')) wrong.push(`${file.path}: import ${specifier} must end in .ts`);
    if (file.room === '') continue;
    const target = normalize(join(dirname(file.path), specifier));
    const room = target.includes('/') ? target.slice(0, target.indexOf('/')) : target;
    const bothSettings = (isSettings || file.room === 'config') && target.endsWith('settings.ts');
    if (room !== file.room && !bothSettings && !ROOMS[file.room]?.includes(room)) {
      wrong.push(`${file.path}: ${file.room}/ may not import ${target}`);
    }
  }
  if (file.room !== 'platform') {
    const match = MACHINE_TIME.exec(file.text);
    if (match !== null) wrong.push(`${file.path}: ${match[0]} belongs to platform/; take a Clock`);
  }
  return wrong;
}

describe('architecture', () => {
  const files = sourceFiles();

  test('every import follows an arrow of the table', () => {
    expect(files.length).toBeGreaterThan(20);
    expect(files.flatMap(violations)).toEqual([]);
  });

  test('the emulator and the client share no code', () => {
    const reach = (from: string): Set<string> => {
      const seen = new Set<string>();
      const open = files.filter((file) => file.room === from).map((file) => file.path);
      for (let path = open.pop(); path !== undefined; path = open.pop()) {
        if (seen.has(path)) continue;
        seen.add(path);
        const file = files.find((candidate) => candidate.path === path);
        for (const specifier of file?.imports ?? []) {
          if (specifier.startsWith('.')) open.push(normalize(join(dirname(path), specifier)));
        }
      }
      return seen;
    };
    const shared = [...reach('client')].filter((path) => reach('emulator').has(path));
    const neutral = shared.filter((path) => !path.startsWith('platform/') && !path.startsWith('domain/'));
    expect(neutral).toEqual([]);
  });

  test('no file is longer than 500 lines', () => {
    const long = files.filter((file) => file.text.split('\n').length > 500).map((file) => file.path);
    expect(long).toEqual([]);
  });

  describe('the check itself', () => {
    const file = (path: string, text: string): SourceFile => ({
      path,
      room: path.includes('/') ? path.slice(0, path.indexOf('/')) : '',
      text,
      imports: importsOf(text),
    });

    test.each([
      ['an arrow that is not there', 'guardrails/x.ts', `import { a } from '../client/api.ts';`],
      ['an arrow through a dynamic import', 'engine/x.ts', `await import('../server/http.ts');`],
      ['an arrow through a type import', 'emulator/x.ts', `import type { A } from '../client/api.ts';`],
      ['an arrow through an export', 'domain/x.ts', `export { a } from '../platform/clock.ts';`],
      ['an unknown room', 'utils/x.ts', `export const a = 1;`],
      ['a stray file at the top', 'helpers.ts', `export const a = 1;`],
      ['a .js specifier', 'engine/x.ts', `import { a } from './y.js';`],
      ['machine time', 'engine/x.ts', `const at = Date.now();`],
      ['a timer', 'server/x.ts', `setTimeout(() => undefined, 1);`],
      ['a node module in a pure room', 'policies/x.ts', `import { readFileSync } from 'node:fs';`],
      ['a package in a pure room', 'domain/x.ts', `import { z } from 'zod';`],
    ])('finds %s', (_what, path, text) => {
      expect(violations(file(path, text))).toHaveLength(1);
    });

    test.each([
      ['an arrow of the table', 'engine/x.ts', `import { a } from '../ledger/ledger.ts';`],
      [
        'settings of one room in those of another',
        'collectors/settings.ts',
        `import { a } from '../scheduler/settings.ts';`,
      ],
      ['a package in the settings of a pure room', 'policies/settings.ts', `import { z } from 'zod';`],
      ['machine time in platform', 'platform/x.ts', `export const at = Date.now();`],
    ])('passes %s', (_what, path, text) => {
      expect(violations(file(path, text))).toEqual([]);
    });
  });

  test('tests mirror the rooms', () => {
    const known = new Set([
      ...Object.keys(ROOMS),
      'rules',
      'dashboards',
      'deploy',
      'system',
      'soak',
      'fixtures',
      'support',
    ]);
    const folders = readdirSync(import.meta.dirname, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const unknown = folders.filter((entry) => !known.has(entry.name)).map((entry) => relative(SRC, entry.name));
    expect(unknown).toEqual([]);
  });
});
