/**
 * Finds regular expressions whose time can grow faster than the length of the text: services, destinations and clients
 * choose most texts. Run by `npm run patterns`.
 *
 * A pattern that only reads short or own text is allowed by a comment on its line or the one before:
 * `bounded: at most 20 characters`.
 */
import { globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { RegExpParser } from '@eslint-community/regexpp';
import { parseAst } from 'rolldown/parseAst';
import { analyse } from 'scslre';

interface SlowPattern {
  readonly line: number;
  readonly pattern: string;
  readonly why: string;
}

const WHY = {
  Trade: 'two repetitions can exchange characters',
  Self: 'a repetition inside a repetition',
  Move: 'each start in a long run is tried again',
} as const;

interface Node {
  readonly type?: string;
  readonly start: number;
  readonly regex?: { readonly pattern: string; readonly flags: string };
  readonly callee?: { readonly name?: string };
}

/** Returns the patterns of a file that may be slow and have no reason. */
export function slowPatterns(source: string): readonly SlowPattern[] {
  const found: SlowPattern[] = [];
  const lines = source.split('\n');
  visit(parseAst(source, { lang: 'ts' }), ({ type, start, regex, callee }) => {
    const isBuilt = (type === 'NewExpression' || type === 'CallExpression') && callee?.name === 'RegExp';
    const why = isBuilt ? 'it is built at run time' : regex && whySlow(regex);
    if (why === undefined) return;
    const line = source.slice(0, start).split('\n').length;
    const isAllowed = [lines[line - 2], lines[line - 1]].some((text) => text?.includes('bounded: '));
    if (!isAllowed) found.push({ line, pattern: regex?.pattern ?? 'RegExp(…)', why });
  });
  return found;
}

function whySlow({ pattern, flags }: NonNullable<Node['regex']>): string | undefined {
  const literal = new RegExpParser().parseLiteral(`/${pattern}/${flags}`);
  const [report] = analyse(literal, { reportTypes: { Move: true, Self: true, Trade: true } }).reports;
  return report && WHY[report.type];
}

function visit(node: unknown, see: (node: Node) => void): void {
  if (typeof node !== 'object' || node === null) return;
  if (Array.isArray(node)) {
    for (const one of node) visit(one, see);
    return;
  }
  see(node as Node);
  for (const inner of Object.values(node)) visit(inner, see);
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '..');
  let slow = 0;
  for (const path of globSync(['src/**/*.ts', 'emulator/src/**/*.ts'].map((pattern) => join(root, pattern))).sort()) {
    for (const { line, pattern, why } of slowPatterns(readFileSync(path, 'utf8'))) {
      slow++;
      process.stderr.write(`${relative(root, path)}:${line}: /${pattern}/ may be slow: ${why}\n`);
    }
  }
  if (slow > 0) {
    process.stderr.write(
      `${slow} patterns. Anchor them, exclude the repeated characters, or state the bound: // bounded: …\n`,
    );
    process.exitCode = 1;
  }
}
