/** Problem in a configuration: its place, the message, and the fix. */

export interface ConfigProblem {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units. */
  readonly column: number;
  /** `accounts[0].token`; empty for the whole file. */
  readonly path: string;
  /** Never contains the value of a secret or of an environment variable. */
  readonly message: string;
  /** Fix. */
  readonly help?: string;
  readonly severity: 'error' | 'warning';
  readonly excerpt?: Excerpt;
}

/** Line of the file, with secrets masked. */
export interface Excerpt {
  readonly text: string;
  /** Offset in `text`, from 0. */
  readonly caret: number;
  readonly length: number;
}

const COLORS = { bold: '1', red: '1;31', yellow: '1;33', cyan: '36', dim: '2' } as const;

/**
 * Problems as text, one paragraph each, without a newline at the end:
 *
 * ```
 * opsd.yaml:4:5: accounts[0].tokne: unknown key
 *   4 |     tokne: …
 *     |     ^^^^^
 *   help: did you mean token?
 * ```
 */
export function formatProblems(problems: readonly ConfigProblem[], options: { readonly color?: boolean } = {}): string {
  const paint = (color: keyof typeof COLORS, text: string): string =>
    options.color === true ? `\u001B[${COLORS[color]}m${text}\u001B[0m` : text;
  return problems
    .map((problem) => {
      const lines = [
        paint('bold', `${problem.file}:${problem.line}:${problem.column}:`) +
          (problem.severity === 'warning' ? ` ${paint('yellow', 'warning:')}` : '') +
          (problem.path === '' ? '' : ` ${problem.path}:`) +
          ` ${problem.message}`,
      ];
      if (problem.excerpt !== undefined) {
        const { text, caret, length } = problem.excerpt;
        const number = String(problem.line);
        // Tabs stay tabs, so that the caret is below the right character.
        const indent = text.slice(0, caret).replace(/[^\t]/g, ' ');
        const mark = paint(problem.severity === 'warning' ? 'yellow' : 'red', '^'.repeat(length));
        lines.push(paint('dim', `  ${number} | `) + text);
        lines.push(paint('dim', `  ${' '.repeat(number.length)} | `) + indent + mark);
      }
      if (problem.help !== undefined) lines.push(`  ${paint('cyan', 'help:')} ${problem.help}`);
      return lines.join('\n');
    })
    .join('\n\n');
}
