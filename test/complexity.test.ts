/**
 * Cognitive complexity of every function of the source: each branch counts one, and one more for each level that it is
 * nested in. A nested function counts for itself. oxlint has no such rule.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'oxc-parser';
import { expect, test } from 'vitest';

const MOST = 25;
const ROOT = join(import.meta.dirname, '..');
const LOOPS = ['ForStatement', 'ForInStatement', 'ForOfStatement', 'WhileStatement', 'DoWhileStatement'];
const NESTING = new Set([...LOOPS, 'SwitchStatement', 'ConditionalExpression', 'CatchClause']);
const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);

interface Node {
  readonly type: string;
  readonly start: number;
  readonly [key: string]: unknown;
}

interface Found {
  readonly start: number;
  score: number;
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';

const childrenOf = (node: Node): readonly Node[] => Object.values(node).flat().filter(isNode);

/** Adds the scores of a node and its children to its function. */
function walk(node: Node, nested: number, of: Found, all: Found[]): void {
  if (FUNCTIONS.has(node.type)) {
    const own = { start: node.start, score: 0 };
    all.push(own);
    for (const child of childrenOf(node)) walk(child, 0, own, all);
    return;
  }
  if (node.type === 'IfStatement') return walkIf(node, nested, of, all);
  const isNesting = NESTING.has(node.type);
  if (isNesting) of.score += 1 + nested;
  if (node.type === 'LogicalExpression' && node['operator'] !== '??') {
    // A sequence of one operator counts once.
    const { left } = node;
    of.score += isNode(left) && left['operator'] === node['operator'] ? 0 : 1;
  }
  if (/^(?:Break|Continue)Statement$/.test(node.type) && node['label'] != null) of.score++;
  for (const child of childrenOf(node)) walk(child, isNesting ? nested + 1 : nested, of, all);
}

/** An `else` counts one, and `else if` as well, without its nesting. */
function walkIf(node: Node, nested: number, of: Found, all: Found[], isElse = false): void {
  of.score += isElse ? 1 : 1 + nested;
  walk(node['test'] as Node, nested, of, all);
  walk(node['consequent'] as Node, nested + 1, of, all);
  const { alternate } = node;
  if (!isNode(alternate)) return;
  if (alternate.type === 'IfStatement') return walkIf(alternate, nested, of, all, true);
  of.score++;
  walk(alternate, nested + 1, of, all);
}

/** Functions above a score, as `file:line score`. */
function complexIn(name: string, text: string, most: number): readonly string[] {
  const all: Found[] = [];
  walk(parseSync(name, text).program as unknown as Node, 0, { start: 0, score: 0 }, all);
  return all
    .filter(({ score }) => score > most)
    .map(({ start, score }) => `${name}:${text.slice(0, start).split('\n').length} ${score}`);
}

test.each([
  ['if (a) b(); else if (c) d(); else e();', 3],
  ['for (const x of y) { if (x) { while (z) z(); } }', 6],
  ['return a && b && (c || d) ? 1 : 2;', 3],
  ['switch (a) { case 1: b(); break; default: if (c) d(); }', 3],
  ['a(() => { if (b) c(); }); if (d) e();', 1],
])('%s has the score %i', (body, score) => {
  const text = `function f() { ${body} }`;
  expect(complexIn('f.ts', text, score - 1)).toContain(`f.ts:1 ${score}`);
  expect(complexIn('f.ts', text, score)).toEqual([]);
});

test(`no function of the source has more than ${MOST}`, () => {
  const files = globSync(['src/**/*.ts', 'emulator/src/**/*.ts'], { cwd: ROOT });
  expect(files.length).toBeGreaterThan(500);
  const complex = (file: string) => complexIn(file, readFileSync(join(ROOT, file), 'utf8'), MOST);
  expect(files.flatMap((file) => complex(file))).toEqual([]);
});
