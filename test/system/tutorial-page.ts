/**
 * The code blocks of a tutorial. `sh` has commands, `text` the output of the previous command, and any other language a
 * file, whose name is the last code span before the block. A comment before a block of commands says how to run it:
 * `keeps running` (a program that serves), `repeats` (until the output is as shown), `exit code N`, or `not run: REASON`.
 */
import { stripVTControlCharacters } from 'node:util';

export interface Command {
  readonly kind: 'command';
  readonly script: string;
  readonly how: 'once' | 'keeps running' | 'repeats';
  readonly exitCode: number;
  /** Shown output; undefined if the page shows none. */
  readonly output?: string;
}

export type Step =
  | Command
  | { readonly kind: 'file'; readonly name: string; readonly text: string }
  | { readonly kind: 'not run'; readonly script: string; readonly reason: string };

/** @throws {Error} for a block that is no file, no command, and no output */
export function stepsOf(page: string): readonly Step[] {
  const steps: Step[] = [];
  for (const [, prose, language, text] of page.matchAll(/(.*?)^```(\w*)\n(.*?)^```$/gms)) {
    const before = prose!.trimEnd();
    if (language === 'text') {
      const last = steps.pop();
      if (last?.kind !== 'command') throw new Error(`output without a command:\n${text}`);
      steps.push({ ...last, output: text! });
    } else if (language === 'sh') {
      steps.push(commandStep(text!, /<!-- ([^>]*) -->$/.exec(before)?.[1]));
    } else {
      const name = [...before.matchAll(/`([\w./-]+\.\w+)`/g)].at(-1)?.[1];
      if (name === undefined || !before.endsWith(':')) throw new Error(`a file without a name:\n${text}`);
      steps.push({ kind: 'file', name, text: text! });
    }
  }
  return steps;
}

function commandStep(script: string, comment = 'once'): Step {
  const reason = /^not run: (.+)$/.exec(comment)?.[1];
  if (reason !== undefined) return { kind: 'not run', script, reason };
  const exitCode = Number(/^exit code (\d+)$/.exec(comment)?.[1] ?? 0);
  const how =
    exitCode > 0 ? 'once' : (['once', 'keeps running', 'repeats'] as const).find((known) => known === comment);
  if (how === undefined) throw new Error(`unknown comment: ${comment}`);
  return { kind: 'command', script, how, exitCode };
}

/** Text that varies from run to run. Ids have a group of their own. */
const VARYING: Readonly<Record<string, readonly [shown: RegExp, found: string]>> = {
  any: [/…/, '.*?'],
  port: [/127\.0\.0\.1:\d+/, String.raw`127\.0\.0\.1:\d+`],
  id: [/\b(?:(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{6,}|\d{13}-\w+|(?:wfr|msg)_\w+)\b/, String.raw`([\w-]+)`],
  date: [
    /(?<!\d)(?:\d{4}-\d\d-\d\d|\d\d? (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec))(?!\d)/,
    '[-0-9A-Za-z ]+',
  ],
  time: [/(?<!\d)\d\d:\d\d:\d\d(?!\d)/, String.raw`\d\d:\d\d:\d\d`],
  epoch: [/\b\d{10}\.?\d*\b/, String.raw`\d{10}\.?\d*`],
  length: [
    /\b\d+(?:\.\d+)? ?(?:ms|min|[smhd])(?: ?\d+ ?(?:min|[smhd])\b)*\b/,
    String.raw`\d+(?:\.\d+)? ?(?:ms|min|[smhd])(?: ?\d+ ?(?:min|[smhd])\b)*`,
  ],
};
const ALL_VARYING = new RegExp(
  Object.entries(VARYING)
    .map(([name, [shown]]) => `(?<${name}>${shown.source})`)
    .join('|'),
  'g',
);

/** Columns of tables are as wide as their widest value, so the number of spaces varies. */
const plain = (text: string): string =>
  stripVTControlCharacters(text)
    .replaceAll('\r', '')
    .replaceAll(/(?<=\S) {2,}/g, '  ')
    .trimEnd();

/**
 * Compares an output with the shown one. Times and other ports vary, `…` is any text, and a line of it any lines. Returns
 * the ids of the output by the shown ones, or undefined for another output.
 *
 * @param fixed ids and addresses that must be as shown
 */
export function compareOutput(
  shown: string,
  printed: string,
  fixed: ReadonlySet<string>,
): ReadonlyMap<string, string> | undefined {
  const ids: string[] = [];
  const source = plain(shown)
    .split('\n')
    .map((line) => (line === '…' ? String.raw`(?:.*\n)*?` : String.raw`${patternOf(line, fixed, ids)}\n`));
  const match = new RegExp(`^${source.join('')}$`).exec(`${plain(printed)}\n`);
  return match === null ? undefined : new Map(ids.map((id, index) => [id, match[index + 1]!]));
}

function patternOf(line: string, fixed: ReadonlySet<string>, ids: string[]): string {
  let pattern = '';
  let at = 0;
  for (const match of line.matchAll(ALL_VARYING)) {
    pattern += RegExp.escape(line.slice(at, match.index));
    at = match.index + match[0].length;
    const name = Object.entries(match.groups!).find(([, found]) => found !== undefined)![0];
    if (fixed.has(match[0])) pattern += RegExp.escape(match[0]);
    else {
      if (name === 'id') ids.push(match[0]);
      pattern += VARYING[name]![1];
    }
  }
  return pattern + RegExp.escape(line.slice(at));
}
