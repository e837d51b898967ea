/** Fields of forms and their values, and parts that a reader opens. */
import { HttpError } from '../../http/reply.ts';
import type { Cell, Html } from '#foundation/markup/cell.ts';
import { html } from '#foundation/markup/html.ts';
import { constantMarkup } from '#foundation/markup/markup.ts';

export const MAX_REASON = 500;

/** @returns undefined for an absent or empty field */
export function textOf(form: URLSearchParams, name: string): string | undefined {
  const text = form.get(name)?.trim() ?? '';
  return text === '' ? undefined : text;
}

/** Reason of an act, which the audit log records. @throws {HttpError} 400 without one */
export function reasonOf(form: URLSearchParams): string {
  const reason = textOf(form, 'reason');
  if (reason === undefined) throw new HttpError(400, 'bad_request', 'A reason is required. The audit log records it.');
  if (reason.length > MAX_REASON) {
    throw new HttpError(400, 'bad_request', `The reason must have at most ${MAX_REASON} characters.`);
  }
  return reason;
}

/** One of several buttons of a form. @throws {HttpError} 400 for another value */
export function buttonOf<T extends string>(form: URLSearchParams, names: readonly T[]): T {
  const found = names.find((name) => name === form.get('act'));
  if (found === undefined) throw new HttpError(400, 'bad_request', `act must be one of ${names.join(', ')}.`);
  return found;
}

/** Field with the reason of an act, which the audit log records. */
export function reasonInput(isRequired = true): Cell {
  return html`<label
    >Reason <input name="reason" maxlength="500" autocomplete="off" ${isRequired ? REQUIRED : undefined}
  /></label>`;
}

const REQUIRED = constantMarkup('required');

/** Part that is closed at first. A section inside has an address: browsers open what is folded around it. */
export function folded(title: string, content: Cell): Html {
  return html`<details class="more">
    <summary>${title}</summary>
    ${content}
  </details>`;
}
