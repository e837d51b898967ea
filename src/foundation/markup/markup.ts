/** Templates of markup. Every text in them is redacted and escaped. */
import { redactKept } from '../domain/redact.ts';
import { ownText } from '../platform/memo.ts';
import { Html } from './cell.ts';

type Plain = Html | string | number | undefined | false;

/** @param render returns the markup of a value */
export function filled<T>(parts: TemplateStringsArray, values: readonly T[], render: (value: T) => string): Html {
  let markup = parts[0]!;
  for (let index = 0; index < values.length; index++) markup += render(values[index]!) + parts[index + 1]!;
  return new Html(markup);
}

/** Unescaped markup, only for constants of this program and for numbers. */
export function constantMarkup(markup: string): Html {
  return new Html(markup);
}

export function renderPlain(value: Plain): string {
  if (value === undefined || value === false) return '';
  if (value instanceof Html) return value.toString();
  return typeof value === 'string' ? escapeHtml(redactKept(value, ownText)) : String(value);
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
