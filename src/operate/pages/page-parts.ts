/** Small pieces that several pages use. */
import { redact } from '#foundation/domain/redact.ts';
import type { Cell } from '../show/cell.ts';
import { constantMarkup, html } from '../show/html.ts';

/** Message with commands between backticks, which are shown as code. */
export function message(text: string): Cell {
  // Redacted as a whole: a secret may contain a backtick.
  const parts = redact(text).split('`');
  const isPaired = parts.length % 2 === 1;
  return isPaired ? parts.map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part)) : text;
}

/** Field with the reason of an act, which the audit log records. */
export function reasonInput(isRequired = true): Cell {
  return html`<label
    >Reason <input name="reason" maxlength="500" autocomplete="off" ${isRequired ? REQUIRED : undefined}
  /></label>`;
}

const REQUIRED = constantMarkup('required');
