/** Text of one file: positions, and lines of it that are safe to show. */
import { LineCounter } from 'yaml';
import { credentialSpans } from '#foundation/domain/credential-spans.ts';
import { redact } from '#foundation/domain/redact.ts';
import type { Excerpt, ConfigProblem } from './problem.ts';

/** Fault between two offsets of a file. */
export interface Fault
  extends Pick<ConfigProblem, 'path' | 'message' | 'help'>, Partial<Pick<ConfigProblem, 'severity'>> {
  readonly start: number;
  readonly end: number;
  /** Value that may be a secret. No excerpt shows it. */
  readonly hidden?: { readonly start: number; readonly end: number };
  /** End of the whole subject, if that is more than the marked part. */
  readonly until?: number;
}

/** Maximum length of a line that is shown. */
const LONGEST_LINE = 2_000;
/** Maximum width of an excerpt; longer lines are cut around the caret. */
const WIDEST_EXCERPT = 160;
const MASK = '***';

export class SourceText {
  /** Displayed name. */
  readonly file: string;
  readonly text: string;
  /** False if no line of the file is ever shown, so that its secrets need no masks. */
  readonly hasExcerpts: boolean;
  readonly lines = new LineCounter();
  readonly #masked: { readonly start: number; readonly end: number }[] = [];

  constructor(file: string, text: string, hasExcerpts = true) {
    this.file = file;
    this.text = text;
    this.hasExcerpts = hasExcerpts;
    this.lines.addNewLine(0);
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) this.lines.addNewLine(at + 1);
  }

  /** Marks a secret, which no excerpt shows. */
  mask(start: number, end: number): void {
    if (end > start) this.#masked.push({ start, end });
  }

  /** Line and column, from 1. */
  position(offset: number): { readonly line: number; readonly column: number } {
    const { line, col } = this.lines.linePos(Math.min(Math.max(offset, 0), this.text.length));
    return { line, column: col };
  }

  /** `file:line:column` */
  place(offset: number): string {
    const { line, column } = this.position(offset);
    return `${this.file}:${line}:${column}`;
  }

  problem(fault: Fault): ConfigProblem {
    const excerpt = this.#excerpt(fault);
    return {
      file: this.file,
      ...this.position(fault.start),
      path: fault.path,
      message: redact(fault.message),
      ...(fault.help === undefined ? {} : { help: redact(fault.help) }),
      severity: fault.severity ?? 'error',
      excerpt,
    };
  }

  #excerpt(fault: Fault): Excerpt | undefined {
    if (!this.hasExcerpts) return undefined;
    const start = this.lines.lineStarts[this.position(fault.start).line - 1] ?? 0;
    const newline = this.text.indexOf('\n', start);
    const end = newline === -1 ? this.text.length : newline;
    if (end - start > LONGEST_LINE || this.text.slice(start, end).trim() === '') return undefined;

    for (const found of credentialSpans(this.text.slice(start, end))) {
      const isLogin = this.text[start + found.end - 1] === '@';
      this.mask(start + found.start, start + found.end - (isLogin ? 1 : 0));
    }
    let shown = '';
    let caret = 0;
    let caretEnd = 0;
    for (let at = start; at <= end;) {
      if (at <= fault.start) caret = shown.length;
      if (at <= Math.max(fault.end, fault.start + 1)) caretEnd = shown.length;
      const hiddenTo = this.#hiddenFrom(at);
      if (hiddenTo === at) {
        shown += this.text[at] ?? '';
        at++;
      } else {
        shown += MASK;
        at = hiddenTo;
        if (fault.start < at && fault.end >= at) caretEnd = shown.length;
      }
    }
    return cut({ text: shown.trimEnd(), caret, length: Math.max(1, caretEnd - caret) });
  }

  /** End of the mask that covers `at`; `at` itself if none does. */
  #hiddenFrom(at: number): number {
    let end = at;
    for (let found = true; found;) {
      const span = this.#masked.find((candidate) => candidate.start <= end && end < candidate.end);
      found = span !== undefined;
      end = span?.end ?? end;
    }
    return end;
  }
}

function cut(excerpt: Excerpt): Excerpt {
  const room = Math.max(1, excerpt.text.length - excerpt.caret);
  const length = Math.min(excerpt.length, room);
  if (excerpt.text.length <= WIDEST_EXCERPT) return { ...excerpt, length };
  const from = Math.max(0, Math.min(excerpt.caret - 40, excerpt.text.length - WIDEST_EXCERPT));
  const text = excerpt.text.slice(from, from + WIDEST_EXCERPT);
  const caret = excerpt.caret - from;
  return { text, caret, length: Math.min(length, Math.max(1, text.length - caret)) };
}
