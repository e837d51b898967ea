/**
 * HTML without injection: every value in an `html` template is redacted and escaped, unless it is the result of another
 * template. Safe in text and in quoted attributes. Never put a value into a tag name, a style or a script.
 */
import { redactKept, startOf } from '#foundation/domain/redact.ts';
import { ownText } from '#foundation/platform/memo.ts';

export class Html {
  readonly #markup: string;

  constructor(markup: string) {
    this.#markup = markup;
  }

  toString(): string {
    return this.#markup;
  }
}

/** Values of a template. Lists are joined without a separator; `undefined` and `false` add nothing. */
export type HtmlValue = Html | string | number | undefined | false | readonly HtmlValue[];

export function html(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  let markup = parts[0]!;
  for (const [index, value] of values.entries()) markup += render(value) + parts[index + 1]!;
  return new Html(markup);
}

/** Unescaped markup, only for constants of this program and for numbers. */
export function constantMarkup(markup: string): Html {
  return new Html(markup);
}

/** Returns the redacted text, cut to `most` characters. The rest of a long text costs nothing. */
export function cutText(text: string, most: number): string {
  return text.length <= most ? text : `${redactKept(startOf(text, most), ownText).slice(0, most)}…`;
}

function render(value: HtmlValue): string {
  if (value === undefined || value === false) return '';
  if (value instanceof Html) return value.toString();
  if (typeof value === 'string') return escapeHtml(redactKept(value, ownText));
  if (typeof value === 'number') return String(value);
  return value.map(render).join('');
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Controls, among them those that reverse the direction of text, to show something else than what it is. */
// oxlint-disable-next-line no-control-regex -- these are the characters to show
const INVISIBLE = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g;

function escapeHtml(text: string): string {
  return text
    .replace(/[&<>"']/g, (character) => ESCAPES[character]!)
    .replace(INVISIBLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
