/** The rooms and their allowed imports, as data: what a file can import, and which modules it must not use. */
import { existsSync, globSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseAst } from 'vitest/node';

const ROOT = join(import.meta.dirname, '..');

/** Folders of the sources, by prefix of their paths here. */
const SOURCES = { '': 'src', emulator: 'emulator/src' };

/** Imports of each wing from other wings: whole wings, or rooms of them. */
const WINGS: Readonly<Record<string, readonly string[]>> = {
  foundation: [],
  service: ['foundation'],
  observe: ['foundation', 'service'],
  automate: ['foundation', 'service', 'observe/observations'],
  operate: ['foundation', 'service', 'observe', 'automate'],
  storage: [
    'foundation',
    'observe/aggregation',
    'observe/canary',
    'observe/incidents',
    'automate/ledger',
    'operate/notifications',
    'operate/views',
  ],
  // The settings of every room, and their validation.
  config: [
    'foundation',
    'service',
    'observe/canary',
    'observe/collectors',
    'observe/metrics',
    'observe/tracing',
    'automate/policies',
    'automate/policytest',
    'operate/http',
    'operate/notifications',
    'storage',
  ],
  cli: ['foundation', 'service', 'observe', 'automate', 'operate', 'storage', 'config', 'emulator'],
  emulator: ['foundation/domain', 'foundation/platform', 'foundation/settings', 'foundation/http', 'foundation/markup'],
};

const DOMAIN = 'foundation/domain';
const PLATFORM = 'foundation/platform';
const EVENTS = 'foundation/events';
const SETTINGS = 'foundation/settings';
const HTTP = 'foundation/http';
const MARKUP = 'foundation/markup';

/** Imports of each room from other rooms. A wing without rooms is one room. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  'foundation/domain': [],
  'foundation/platform': [DOMAIN],
  // Building blocks of the settings of every room.
  'foundation/settings': [DOMAIN],
  // What the listeners of the daemon and of the emulator do alike.
  'foundation/http': [PLATFORM, SETTINGS],
  // Pieces of what people read, as HTML: for the pages of the daemon and of the emulator.
  'foundation/markup': [DOMAIN, PLATFORM],
  'foundation/events': [DOMAIN, 'foundation/platform'],
  'foundation/scheduler': ['foundation/platform', 'foundation/events', SETTINGS],

  service: [DOMAIN, PLATFORM, EVENTS, SETTINGS],

  'observe/catalog': [DOMAIN],
  'observe/aggregation': [DOMAIN, PLATFORM, 'observe/catalog'],
  'observe/observations': [DOMAIN, PLATFORM, EVENTS],
  // Groups what the board and the ledger have; it reads nothing itself.
  'observe/incidents': [DOMAIN, PLATFORM, EVENTS, 'observe/observations'],
  // The sender of canaries, and their verdicts.
  'observe/canary': [DOMAIN, PLATFORM, EVENTS, 'foundation/scheduler', 'service', SETTINGS],
  'observe/collectors': [DOMAIN, PLATFORM, EVENTS, 'service', 'observe/aggregation', SETTINGS],
  'observe/metrics': [
    DOMAIN,
    PLATFORM,
    EVENTS,
    'observe/catalog',
    'observe/aggregation',
    'observe/observations',
    SETTINGS,
  ],
  'observe/tracing': [DOMAIN, PLATFORM, EVENTS, 'observe/aggregation', SETTINGS],

  'automate/policies': [DOMAIN, SETTINGS],
  'automate/guardrails': [DOMAIN],
  'automate/actions': [DOMAIN, PLATFORM, EVENTS, 'service'],
  // Kept bodies are sealed before they reach a store.
  'automate/ledger': [DOMAIN, PLATFORM],
  // The engine, in the order of a run.
  'automate/engine/facts': [
    DOMAIN,
    PLATFORM,
    EVENTS,
    'observe/observations',
    'automate/policies',
    'automate/guardrails',
    'automate/actions',
    'automate/ledger',
  ],
  'automate/engine/guard': [
    DOMAIN,
    PLATFORM,
    EVENTS,
    'automate/policies',
    'automate/guardrails',
    'automate/ledger',
    'automate/engine/facts',
  ],
  'automate/engine/decide': [
    DOMAIN,
    PLATFORM,
    'automate/policies',
    'automate/guardrails',
    'automate/ledger',
    'automate/engine/facts',
    'automate/engine/guard',
  ],
  'automate/engine/act': [
    DOMAIN,
    PLATFORM,
    EVENTS,
    'automate/policies',
    'automate/guardrails',
    'automate/actions',
    'automate/ledger',
    'automate/engine/facts',
    'automate/engine/guard',
    'automate/engine/decide',
  ],
  'automate/engine/settle': [
    DOMAIN,
    'automate/policies',
    'automate/guardrails',
    'automate/ledger',
    'automate/engine/guard',
    'automate/engine/decide',
    'automate/engine/act',
  ],
  'automate/engine/run': [
    DOMAIN,
    PLATFORM,
    'automate/policies',
    'automate/ledger',
    'automate/engine/facts',
    'automate/engine/guard',
    'automate/engine/decide',
    'automate/engine/act',
    'automate/engine/settle',
  ],
  'automate/engine/commands': [
    DOMAIN,
    'automate/policies',
    'automate/guardrails',
    'automate/ledger',
    'automate/engine/guard',
    'automate/engine/decide',
    'automate/engine/act',
    'automate/engine/settle',
    'automate/engine/run',
  ],
  'automate/engine': [
    DOMAIN,
    PLATFORM,
    'automate/policies',
    'automate/guardrails',
    'automate/ledger',
    'automate/engine/facts',
    'automate/engine/guard',
    'automate/engine/decide',
    'automate/engine/settle',
    'automate/engine/run',
    'automate/engine/commands',
  ],
  // Unit tests of policies: the engine over a service without a network and a given ledger.
  'automate/policytest': [
    DOMAIN,
    PLATFORM,
    EVENTS,
    'observe/observations',
    'automate/policies',
    'automate/guardrails',
    'automate/actions',
    'automate/ledger',
    'automate/engine/facts',
    'automate/engine/decide',
    'automate/engine/run',
    'automate/engine',
    SETTINGS,
  ],

  // Puts the server together.
  operate: [PLATFORM, 'operate/http', 'operate/api', 'operate/pages', SETTINGS],
  'operate/http': [DOMAIN, PLATFORM, HTTP, SETTINGS],
  // What is the case, from facts: the same answer for every view.
  'operate/situation': [DOMAIN],
  // Operations of the service that operators send by name.
  'operate/operations': [DOMAIN, PLATFORM, 'service', 'automate/ledger', 'operate/http'],
  // Each resource and each route of the API, stated once.
  'operate/contract': [DOMAIN, 'automate/ledger', 'operate/http', 'operate/situation'],
  'operate/api': [
    DOMAIN,
    PLATFORM,
    'service',
    'observe/observations',
    'observe/incidents',
    // The label of a group in alerts.
    'observe/metrics',
    'observe/tracing',
    'automate/ledger',
    'operate/http',
    'operate/operations',
    'operate/situation',
    'operate/contract',
  ],
  // What the replicas show of the accounts of the others.
  'operate/views': [
    DOMAIN,
    PLATFORM,
    EVENTS,
    'observe/observations',
    'observe/incidents',
    'automate/ledger',
    'operate/contract',
    'operate/api',
  ],
  // Everything that people read, as data, and its rendering as text.
  'operate/show': [DOMAIN, MARKUP, 'operate/contract'],
  'operate/pages': [
    DOMAIN,
    MARKUP,
    'automate/ledger',
    'operate/http',
    'operate/contract',
    'operate/api',
    'operate/situation',
    'operate/show',
  ],
  // Reports of deploys, from the hook and from the API.
  'operate/hooks': [
    DOMAIN,
    PLATFORM,
    EVENTS,
    'observe/canary',
    'automate/ledger',
    'operate/http',
    'operate/contract',
    SETTINGS,
  ],
  'operate/notifications': [DOMAIN, PLATFORM, EVENTS, SETTINGS],
  cli: [
    DOMAIN,
    PLATFORM,
    EVENTS,
    MARKUP,
    'config',
    'service',
    'emulator',
    // A recording is a seed.
    'emulator/types',
    'emulator/state',
    'emulator/control',
    'emulator/sample',
    'emulator/http',
    'operate/contract',
    'operate/show',
    'operate/situation',
    'automate/ledger',
    'automate/policytest',
    'observe/catalog',
    'observe/metrics',
    'observe/tracing',
    // `opsd state restore` replaces the store while no daemon has it; `opsd test` runs over a ledger in memory.
    'storage',
    // `opsd state copy`, and the checks of `opsd doctor`.
    'storage/copy',
    'storage/postgres',
    SETTINGS,
  ],

  // It implements the ports of these rooms.
  storage: [
    DOMAIN,
    PLATFORM,
    SETTINGS,
    'observe/aggregation',
    'observe/canary',
    'observe/incidents',
    'automate/ledger',
    'operate/notifications',
  ],
  // The same stores over PostgreSQL, for several replicas.
  'storage/postgres': [PLATFORM, 'storage', 'automate/ledger', 'observe/canary', 'operate/views'],
  // Moves a store from one database to the other.
  'storage/copy': [PLATFORM, 'storage', 'storage/postgres', 'automate/ledger'],
  // In addition to settings: it compiles the expressions and triggers of policies, so that an error has its place in
  // the file.
  config: [
    DOMAIN,
    PLATFORM,
    SETTINGS,
    'service',
    'observe/canary',
    'observe/collectors',
    'observe/metrics',
    'observe/tracing',
    'automate/policies',
    'automate/policytest',
    'operate/http',
    'operate/notifications',
    'storage',
  ],
  // The public types of the library; they import nothing.
  'emulator/types': [],
  'emulator/state': [PLATFORM, 'emulator/types'],
  'emulator/statistics': [PLATFORM, 'emulator/state'],
  'emulator/delivery': [PLATFORM, 'emulator/types', 'emulator/state', 'emulator/statistics'],
  'emulator/http': [
    PLATFORM,
    HTTP,
    'emulator/types',
    'emulator/state',
    'emulator/statistics',
    'emulator/delivery',
    SETTINGS,
  ],
  'emulator/store': [PLATFORM, 'emulator/state', 'emulator/statistics', 'emulator/http'],
  'emulator/control': [
    PLATFORM,
    'emulator/types',
    'emulator/state',
    'emulator/statistics',
    'emulator/delivery',
    'emulator/http',
  ],
  // What the service holds, for a browser. Its routes are those of the server.
  'emulator/pages': [DOMAIN, PLATFORM, MARKUP, 'emulator/state', 'emulator/http', 'emulator/control'],
  // A client like any other: it shares no code with the service.
  'emulator/sample': [PLATFORM],
  // The library for tests of applications, over the whole service.
  'emulator/testing': [DOMAIN, PLATFORM, 'emulator/types', 'emulator', 'emulator/state', 'emulator/control'],
  // Puts the service together.
  emulator: [
    PLATFORM,
    'emulator/state',
    'emulator/statistics',
    'emulator/delivery',
    'emulator/http',
    'emulator/store',
    'emulator/control',
    'emulator/pages',
    SETTINGS,
  ],
};

/** The composition root and the process may import everything. */
const ROOT_WING = 'app';
const TOP_FILES = ['main.ts'];

/** Rooms without access to the network or the machine. */
const PURE_ROOMS = ['foundation/domain', 'automate/policies', 'automate/guardrails', 'operate/situation'];

/** The expression language, its patterns, which cannot backtrack, and the schemas of settings: all that pure rooms use. */
const PURE_PACKAGES = ['@marcbachmann/cel-js', '@marcbachmann/cel-js/evaluator', 're2js', 'zod', 'zod/mini'];

/** Machine time and timers belong to `platform/`, which hands them out as a Clock. */
const MACHINE_TIME =
  /\bDate\.now\b|\bnew Date\(\)|\bsetTimeout\b|\bsetInterval\b|\bAbortSignal\.timeout\b|\bperformance\.now\b|node:timers/;

const IMPORT = /\b(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]|\bimport\s*\(?\s*['"]([^'"]+)['"]/g;

interface SourceFile {
  readonly path: string;
  readonly room: string;
  readonly text: string;
  /** Packages, and modules of Node. */
  readonly packages: readonly string[];
  /** Files of the project, by path from `src`, and as written. */
  readonly imports: readonly { readonly path: string; readonly specifier: string }[];
}

const wingOf = (path: string): string => (path.includes('/') ? path.slice(0, path.indexOf('/')) : '');

/** Returns the longest room name that is a prefix of the path, else its wing. */
function roomOf(path: string): string {
  const [wing, room, inner] = path.split('/');
  const names = [`${wing}/${room}/${inner}`, `${wing}/${room}`];
  return names.find((name) => name in ROOMS) ?? wingOf(path);
}

function sourceFile(path: string, text: string): SourceFile {
  const specifiers = [...text.matchAll(IMPORT)].map((match) => match[1] ?? match[2]!);
  const imports = specifiers
    .filter((specifier) => /^[.#]/.test(specifier))
    .map((specifier) => ({
      specifier,
      path: specifier.startsWith('#') ? specifier.slice(1) : normalize(join(dirname(path), specifier)),
    }));
  return { path, room: roomOf(path), text, imports, packages: specifiers.filter((name) => !/^[.#]/.test(name)) };
}

function sourceFiles(): SourceFile[] {
  return Object.entries(SOURCES).flatMap(([wing, folder]) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .map((path) => sourceFile(join(wing, path), readFileSync(join(ROOT, folder, path), 'utf8'))),
  );
}

/** An arrow between rooms as arrows from its wing, to the room and to its wing. */
function wingArrows(arrow: string): string[] {
  const [from = '', to = ''] = arrow.split(' → ');
  return [to, wingOf(`${to}/`)].map((target) => `${wingOf(`${from}/`)} → ${target}`);
}

/** Returns the violations of a file, one line each. */
function violations({ path, room, text, imports, packages }: SourceFile): string[] {
  const wrong: string[] = [];
  const wing = wingOf(path);
  if (wing === '' && !TOP_FILES.includes(path)) wrong.push(`${path}: only ${TOP_FILES.join(' and ')} is at the top`);
  if (wing !== '' && wing !== ROOT_WING && ROOMS[room] === undefined) wrong.push(`${path}: unknown room ${room}`);
  const strange = packages.filter((name) => !PURE_PACKAGES.includes(name));
  if (PURE_ROOMS.includes(room)) {
    wrong.push(...strange.map((name) => `${path}: ${room}/ may not import ${name}`));
  }
  for (const { path: target, specifier } of imports) {
    const there = roomOf(target);
    if (specifier.endsWith('.js')) wrong.push(`${path}: import ${specifier} must end in .ts`);
    if (wingOf(target) !== '' && specifier.startsWith('#') !== (wing !== wingOf(target))) {
      wrong.push(`${path}: ${specifier} must begin with # across wings, and be relative within one`);
    }
    if (wing === '' || wing === ROOT_WING || there === room) continue;
    const mayWing = wing === wingOf(target) || WINGS[wing]?.some((name) => name === there || name === wingOf(target));
    if (!mayWing || !ROOMS[room]?.includes(there)) wrong.push(`${path}: ${room}/ may not import ${target}`);
  }
  if (room !== 'foundation/platform') {
    const match = MACHINE_TIME.exec(text);
    if (match !== null) wrong.push(`${path}: ${match[0]} belongs to foundation/platform/; take a Clock`);
  }
  return wrong;
}

/** Groups of files of one room that import each other, directly or not; imports of types count. */
function cycles(files: readonly SourceFile[]): string[][] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const found: string[][] = [];
  /** Tarjan's strongly connected components. */
  const visit = (path: string, room: string): number => {
    order.set(path, order.size);
    let low = order.get(path)!;
    stack.push(path);
    for (const imported of byPath.get(path)!.imports) {
      if (byPath.get(imported.path)?.room !== room) continue;
      if (!order.has(imported.path)) low = Math.min(low, visit(imported.path, room));
      else if (stack.includes(imported.path)) low = Math.min(low, order.get(imported.path)!);
    }
    lowest.set(path, low);
    if (low === order.get(path)) {
      const group = stack.splice(stack.indexOf(path));
      if (group.length > 1) found.push(group.toSorted());
    }
    return low;
  };
  for (const { path, room } of files) if (!order.has(path)) visit(path, room);
  return found;
}

/** Lines of a function. A table outside of functions may be longer. */
const MOST_LINES = 100;

/** Returns the lines of each long function of a file, by path and name. */
function longFunctions({ path, text }: Pick<SourceFile, 'path' | 'text'>): [name: string, lines: number][] {
  if (text.split('\n').length <= MOST_LINES) return [];
  const found: [string, number][] = [];
  const visit = (node: unknown, name: string): void => {
    if (typeof node !== 'object' || node === null) return;
    if (Array.isArray(node)) {
      for (const child of node) visit(child, name);
      return;
    }
    const { type, start, end, id, key } = node as Partial<AstNode>;
    const own = id?.name ?? key?.name ?? name;
    if (type !== undefined && /^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(type)) {
      const lines = text.slice(start, end).split('\n').length;
      if (lines > MOST_LINES) found.push([`${path} ${own}`, lines]);
    }
    for (const child of Object.values(node)) visit(child, own);
  };
  visit(parseAst(text, { lang: 'ts' }), '');
  return found;
}

/** Fields of a node of the syntax tree that are used here. */
interface AstNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly id: { readonly name?: string } | null;
  readonly key: { readonly name?: string };
}

describe('architecture', () => {
  const files = sourceFiles();

  test('every import follows an arrow of the table', () => {
    expect(files.length).toBeGreaterThan(20);
    expect(files.flatMap(violations)).toEqual([]);
  });

  test('each arrow of the tables is used', () => {
    const used = new Set(files.flatMap(({ room, imports }) => imports.map((to) => `${room} → ${roomOf(to.path)}`)));
    const known = Object.entries(ROOMS).flatMap(([room, others]) => others.map((other) => `${room} → ${other}`));
    expect(known.filter((arrow) => !used.has(arrow))).toEqual([]);
    const wings = new Set([...used].flatMap((arrow) => wingArrows(arrow)));
    const knownWings = Object.entries(WINGS).flatMap(([wing, others]) => others.map((other) => `${wing} → ${other}`));
    expect(knownWings.filter((arrow) => !wings.has(arrow))).toEqual([]);
  });

  test('no files of a room import each other in a circle', () => {
    expect(cycles(files)).toEqual([]);
  });

  test('no rooms import each other in a circle', () => {
    const rooms = Object.entries(ROOMS).map(([path, others]) => ({
      ...sourceFile(path, ''),
      room: '',
      imports: others.map((other) => ({ path: other, specifier: other })),
    }));
    expect(cycles(rooms)).toEqual([]);
  });

  test('no wings import each other in a circle', () => {
    const wings = Object.entries(WINGS).map(([wing, others]) => ({
      ...sourceFile(wing, ''),
      room: '',
      imports: others.map((other) => ({ path: wingOf(`${other}/`), specifier: other })),
    }));
    expect(cycles(wings)).toEqual([]);
  });

  test('the emulator and the client share no code', () => {
    const byPath = new Map(files.map((file) => [file.path, file]));
    const reach = (from: string): Set<string> => {
      const seen = new Set<string>();
      const open = files.filter(({ path }) => wingOf(path) === from).map(({ path }) => path);
      for (let path = open.pop(); path !== undefined; path = open.pop()) {
        if (seen.has(path)) continue;
        seen.add(path);
        open.push(...(byPath.get(path)?.imports.map((imported) => imported.path) ?? []));
      }
      return seen;
    };
    const [client, emulator] = [reach('service'), reach('emulator')];
    expect([client.size > 20, emulator.size > 50]).toEqual([true, true]);
    const shared = [...client].filter((path) => emulator.has(path));
    expect(shared.filter((path) => !/^foundation\/(platform|domain|settings)\//.test(path))).toEqual([]);
  });

  test('no exported name of the daemon, or of the emulator, has two meanings', () => {
    const places = new Map<string, Set<string>>();
    for (const { path, text } of files) {
      // Builders, which are used as `s.text`.
      if (path === 'operate/contract/schema.ts') continue;
      for (const [, name] of text.matchAll(
        /^export (?:abstract |async )*(?:function\*?|class|interface|type|const) (\w+)/gm,
      )) {
        const key = `${wingOf(path) === 'emulator' ? 'emulator' : 'daemon'}: ${name}`;
        places.set(key, (places.get(key) ?? new Set()).add(path));
      }
    }
    expect(places.size).toBeGreaterThan(2_000);
    expect([...places].filter(([, paths]) => paths.size > 1)).toEqual([]);
  });

  test('no function is longer than 100 lines', () => {
    expect(files.flatMap(longFunctions)).toEqual([]);
  });

  test('no file is longer than 500 lines', () => {
    const long = files.filter((file) => file.text.split('\n').length > 500).map((file) => file.path);
    expect(long).toEqual([]);
  });

  describe('the check itself', () => {
    test.each([
      ['an arrow that is not there', 'automate/guardrails/x.ts', `import { a } from '#service/api.ts';`],
      ['an arrow within a wing that is not there', 'automate/ledger/x.ts', `import { a } from '../engine/engine.ts';`],
      ['an arrow through a dynamic import', 'automate/engine/x.ts', `await import('#operate/http/http.ts');`],
      ['an arrow through a type import', 'emulator/x.ts', `import type { A } from '#service/api.ts';`],
      ['an arrow through an export', 'foundation/domain/x.ts', `export { a } from '../platform/clock.ts';`],
      ['an arrow to the composition root', 'cli/x.ts', `import { a } from '#app/daemon.ts';`],
      ['an unknown room', 'foundation/utils/x.ts', `export const a = 1;`],
      ['an unknown wing', 'utils/x.ts', `export const a = 1;`],
      ['a stray file at the top', 'helpers.ts', `export const a = 1;`],
      ['a .js specifier', 'automate/engine/x.ts', `import { a } from './y.js';`],
      [
        'a relative path into another wing',
        'automate/engine/x.ts',
        `import { a } from '../../foundation/domain/a.ts';`,
      ],
      ['a # within a wing', 'automate/engine/x.ts', `import { a } from '#automate/ledger/ledger.ts';`],
      ['machine time', 'automate/engine/x.ts', `const at = Date.now();`],
      ['a timer', 'operate/http/x.ts', `setTimeout(() => undefined, 1);`],
      ['a node module in a pure room', 'automate/policies/x.ts', `import { readFileSync } from 'node:fs';`],
      ['a package in a pure room', 'foundation/domain/x.ts', `import { request } from 'undici';`],
    ])('finds %s', (_what, path, text) => {
      expect(violations(sourceFile(path, text))).toHaveLength(1);
    });

    test.each([
      ['a declaration', (body: string) => `export function f() {${body}}`],
      ['an arrow function', (body: string) => `const f = () => {${body}};`],
      ['a method', (body: string) => `class A { f() {${body}} }`],
    ])('finds %s that is too long', (_what, textOf) => {
      expect(longFunctions({ path: 'x.ts', text: textOf('\n'.repeat(MOST_LINES)) })).toEqual([['x.ts f', 101]]);
      expect(longFunctions({ path: 'x.ts', text: textOf('\n'.repeat(MOST_LINES - 1)) })).toEqual([]);
    });

    test('takes a table for no function', () => {
      const rows = "  () => 'row',\n".repeat(MOST_LINES + 1);
      expect(longFunctions({ path: 'x.ts', text: `const TABLE = [\n${rows}];` })).toEqual([]);
    });

    test('finds a circle of files', () => {
      const circle = [
        sourceFile('automate/engine/a.ts', `import type { B } from './b.ts';`),
        sourceFile('automate/engine/b.ts', `import { c } from './c.ts';`),
        sourceFile('automate/engine/c.ts', `import { a } from './a.ts';`),
        sourceFile('automate/engine/d.ts', `import { a } from './a.ts';`),
      ];
      expect(cycles(circle)).toEqual([['automate/engine/a.ts', 'automate/engine/b.ts', 'automate/engine/c.ts']]);
    });

    test.each([
      ['an arrow of the table', 'automate/engine/x.ts', `import { a } from '../ledger/ledger.ts';`],
      ['an arrow between wings', 'observe/collectors/x.ts', `import { a } from '#service/api.ts';`],
      ['a schema in a pure room', 'automate/policies/x.ts', `import { z } from 'zod';`],
      ['machine time in platform', 'foundation/platform/x.ts', `export const at = Date.now();`],
      ['anything in the composition root', 'app/x.ts', `import { a } from '#emulator/emulator.ts';`],
    ])('passes %s', (_what, path, text) => {
      expect(violations(sourceFile(path, text))).toEqual([]);
    });
  });

  test('tests mirror the wings and rooms', () => {
    const rooms = new Set([...Object.keys(ROOMS), ...Object.keys(WINGS), ROOT_WING]);
    const others = ['rules', 'dashboards', 'deploy', 'repository', 'system', 'soak', 'fixtures', 'support'];
    const unknown = globSync(['test/**/*.test.ts', 'emulator/test/**/*.test.ts'], { cwd: ROOT })
      .map((path) =>
        dirname(path)
          .replace(/^emulator\/test/, 'emulator')
          .replace(/^test\/?/, ''),
      )
      .filter((folder) => folder !== '' && !others.includes(wingOf(`${folder}/`)) && !rooms.has(folder));
    expect([...new Set(unknown)]).toEqual([]);
  });
});

describe('docs/ARCHITECTURE.md', () => {
  const text = readFileSync(join(ROOT, 'docs/ARCHITECTURE.md'), 'utf8');

  test('has each room once', () => {
    const listed = [...text.matchAll(/^- `([\w/]+)\/`: \w/gm)].map(([, room]) => room!);
    expect(listed.toSorted()).toEqual(Object.keys(ROOMS).toSorted());
  });

  test('names files and folders that exist', () => {
    const tops = ['docs', 'test', 'emulator', ...Object.keys(ROOMS).map((room) => room.split('/')[0]!), 'app'];
    const paths = [...text.matchAll(/`([\w-]+\/[\w./-]*)`/g)].map((match) => match[1]!);
    const known = paths.filter((path) => tops.includes(path.slice(0, path.indexOf('/'))));
    expect(known.length).toBeGreaterThan(30);
    const places = (path: string) => [path, `src/${path}`, path.replace('emulator/', 'emulator/src/')];
    expect(known.filter((path) => !places(path).some((place) => existsSync(join(ROOT, place))))).toEqual([]);
  });
});
