/**
 * Checks the conformance table. Every part of the interface needs a row, and every row an existing test or a reason.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { DEFAULT_SWITCHES } from '#emulator/state/switches.ts';
import type { Row } from './conformance-row.ts';
import { ROWS } from './conformance.ts';
import { namedIds } from './interface-names.ts';
import { STATEMENTS } from './interface-statements.ts';

/** Returns the titles of tests that run, as written in a file. */
function titlesOf(text: string): ReadonlySet<string> {
  // Text before a title: `test(`, or the end `)(` of a `test.each` list.
  const title = /(?<![.\w])(?:test|it)\(\s*(['"`])((?:\\.|(?!\1).)*)\1|\)\(\s*(['"`])((?:\\.|(?!\3).)*)\3\s*,/g;
  return new Set([...text.matchAll(title)].map((match) => (match[2] ?? match[4]!).replaceAll(/\\(.)/g, '$1')));
}

interface TestFile {
  readonly text: string;
  readonly titles: ReadonlySet<string>;
}

/** Returns one line per violation of the table's rules. */
function violations(rows: readonly Row[], names: readonly string[], read: (file: string) => string | undefined) {
  const wrong: string[] = [];
  const ids = new Set(rows.map((row) => row.id));
  for (const name of names) if (!ids.has(name)) wrong.push(`${name}: has no row`);
  if (ids.size < rows.length) {
    const twice = rows.filter((row, index) => rows.findIndex(({ id }) => id === row.id) !== index);
    for (const { id } of twice) wrong.push(`${id}: stands twice`);
  }
  const files = new Map<string, TestFile | undefined>();
  for (const { id, statement, proof, open, pending } of rows) {
    if (statement.trim() === '') wrong.push(`${id}: states nothing`);
    if (proof === undefined && !open && !pending) wrong.push(`${id}: has neither a proof nor a reason`);
    if (proof === undefined) continue;
    const { file, test: title, value } = proof;
    if (!files.has(file)) {
      const text = read(file);
      files.set(file, text === undefined ? undefined : { text, titles: titlesOf(text) });
    }
    const known = files.get(file);
    if (known === undefined) wrong.push(`${id}: there is no file ${file}`);
    else if (!known.titles.has(title)) wrong.push(`${id}: ${file} has no test "${title}"`);
    else if (value !== undefined && !known.text.includes(value)) wrong.push(`${id}: ${file} has no value ${value}`);
    else if (value === undefined && !/[a-z]{3}/.test(title.replaceAll(/%\w/g, '')))
      wrong.push(`${id}: which value of "${title}" in ${file}?`);
  }
  return wrong;
}

/** Paths of the emulator's tests by file name. */
const TEST_FILES = new Map(
  readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts'))
    .map((path) => [basename(path), join(import.meta.dirname, path)]),
);

function readTestFile(file: string): string | undefined {
  const path = TEST_FILES.get(file);
  return path === undefined ? undefined : readFileSync(path, 'utf8');
}

describe('the conformance table', () => {
  test('has a row for every name of the interface, each with an existing test or a reason', () => {
    expect(violations(ROWS, namedIds(), readTestFile)).toEqual([]);
  });

  test('has the rows of every sentence of the interface', () => {
    const ids = new Set(ROWS.map(({ id }) => id));
    expect(
      STATEMENTS.flatMap(([words, ...rows]) => (rows.length === 0 ? [words] : rows)).filter((id) => !ids.has(id)),
    ).toEqual([]);
  });

  test('has no pending row', () => {
    expect(ROWS.filter(({ pending }) => pending !== undefined)).toEqual([]);
  });

  test('names every switch of the emulator as the answer to an open point, and no other', () => {
    const named = ROWS.flatMap(({ open }) => [...(open ?? '').matchAll(/\bswitch (\w+)/g)].map((match) => match[1]!));
    expect(new Set(named)).toEqual(new Set(Object.keys(DEFAULT_SWITCHES)));
  });

  test('names sections 2 to 8 of the interface', () => {
    const sections = Map.groupBy(ROWS, ({ id }) => id.split('.', 1)[0]!);
    expect([...sections.keys()].toSorted()).toEqual(['2', '3', '4', '5', '6', '7', '8', 'B']);
    expect(namedIds().length).toBeGreaterThan(300);
    expect(new Set(namedIds()).size).toBe(namedIds().length);
  });
});

/**
 * Returns lines of sections 2 to 8 of the interface with neither a known name nor a known sentence, and sentences that
 * the interface lacks.
 */
function strangers(text: string): readonly string[] {
  const names = readFileSync(join(import.meta.dirname, 'interface-names.ts'), 'utf8');
  const missing = STATEMENTS.map(([words]) => words).filter((words) => !text.includes(words));
  const sections = text.slice(text.indexOf('\n## 2. '), text.indexOf('\n## 9. ')).split('\n');
  const unknown = sections.filter((line, at) => {
    const [cell] = line.split('|').filter((part) => part !== '');
    const isHead = /^\|[-| ]+\|$/.test(sections[at + 1] ?? '');
    if (line.trim() === '' || isHead || /^#|^\|[-| ]+\|$|^Conventions/.test(line)) return false;
    if (STATEMENTS.some(([words]) => line.includes(words))) return false;
    return !line.startsWith('|') || !names.includes(cell!.trim().replaceAll(/[`*]/g, ''));
  });
  return [...missing, ...unknown];
}

/**
 * File with the text of the interface, which is not part of the project. With the file, the table can be compared with
 * the text.
 */
const TEXT = [process.env['INTERFACE']].filter((path) => path !== undefined);

test.each(TEXT)('every line of the text of the interface in %s is known', (path) => {
  expect(strangers(readFileSync(path, 'utf8'))).toEqual([]);
});

describe('the check itself', () => {
  const read = (file: string) =>
    file === 'a.test.ts'
      ? `test('runs', () => {}); test.skip('is skipped', () => {}); test.each([1])("each %s's", () => {}); test.each(['one'])('%s', () => {});\ntest(\n  'is long', () => {});`
      : undefined;
  const row = (test: string, file = 'a.test.ts'): Row => ({ id: 'x', statement: 's', proof: { file, test } });

  test.each([
    ['a test that exists', [row('runs')], []],
    ['a test over many values', [row("each %s's")], []],
    ['a title on a line of its own', [row('is long')], []],
    ['a value of a test', [{ id: 'x', statement: 's', proof: { file: 'a.test.ts', test: '%s', value: `'one'` } }], []],
    ['a reason', [{ id: 'x', statement: 's', open: 'not shown' }], []],
  ] as const)('takes %s', (_what, rows, expected) => {
    expect(violations(rows, ['x'], read)).toEqual(expected);
  });

  test.each([
    ['a test that is not there', [row('ran')], 'has no test'],
    ['a test that does not run', [row('is skipped')], 'has no test'],
    ['a title that says nothing', [row('%s')], 'which value'],
    [
      'a value that is not there',
      [{ ...row('%s'), proof: { file: 'a.test.ts', test: '%s', value: 'two' } }],
      'no value',
    ],
    ['a file that is not there', [row('runs', 'b.test.ts')], 'no file'],
    ['neither proof nor reason', [{ id: 'x', statement: 's' }], 'neither'],
    ['an empty reason', [{ id: 'x', statement: 's', open: '' }], 'neither'],
    ['an empty statement', [{ ...row('runs'), statement: ' ' }], 'states nothing'],
    ['an id that stands twice', [row('runs'), row('runs')], 'twice'],
    ['a name without a row', [{ ...row('runs'), id: 'y' }], 'has no row'],
  ] as const)('complains of %s', (_what, rows, complaint) => {
    expect(violations(rows, ['x'], read)).toEqual([expect.stringContaining(complaint)]);
  });
});
