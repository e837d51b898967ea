/** Small pieces that all parts of the page use. */
import { formatAge, formatTime, machineTime } from '../api/format.ts';
import { constantMarkup, html, type Html, type HtmlValue } from './html.ts';

export type Tone = 'ok' | 'attention' | 'trouble' | 'off';

export function state(tone: Tone, word: string): Html {
  return html`<span class="state ${tone}">${word}</span>`;
}

export function sub(text: string | undefined): Html | undefined {
  return text === undefined || text === '' ? undefined : html` <span class="sub">${text}</span>`;
}

/** Relative time, with the time itself below. */
export function moment(at: number | undefined, now: number): HtmlValue {
  if (at === undefined) return undefined;
  return html`<span class="nowrap">${formatAge(at, now)}</span> <span class="sub when">${time(at)}</span>`;
}

export function time(at: number): Html {
  const machine = machineTime(at);
  return machine === undefined ? html`${formatTime(at)}` : html`<time datetime="${machine}">${formatTime(at)}</time>`;
}

export interface Fact {
  readonly name: string;
  /** `undefined` and `false` omit the fact. */
  readonly value: HtmlValue;
}

export function facts(rows: readonly Fact[]): Html {
  return html`<dl class="facts">
    ${rows.map(
      ({ name, value }) =>
        value !== undefined &&
        value !== false &&
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;
}

/** Field with the reason of an act, which the audit log records. */
export function reasonInput(isRequired = true): Html {
  return html`<label
    >Reason <input name="reason" maxlength="500" autocomplete="off" ${isRequired ? REQUIRED : undefined}
  /></label>`;
}

const REQUIRED = constantMarkup('required');

export function section(id: string, title: string, content: HtmlValue): Html {
  return html`<section aria-labelledby="${id}">
    <h2 id="${id}">${title}</h2>
    ${content}
  </section>`;
}
