/** Small pieces that all parts of the page use. */
import { redact } from '#foundation/domain/redact.ts';
import { formatAge, formatCount, formatTime, machineTime } from '../api/format.ts';
import { constantMarkup, cutText, html, type Html, type HtmlValue } from './html.ts';

export type Tone = 'ok' | 'attention' | 'trouble' | 'off';

export function state(tone: Tone, word: string): Html {
  return html`<span class="state ${tone}">${word}</span>`;
}

export function sub(text: string | undefined): Html | undefined {
  return text === undefined || text === '' ? undefined : html` <span class="sub">${clipped(text)}</span>`;
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

/** Text with its times as elements, which the script shows as local times. */
export function withTimes(text: string): Html {
  const parts = redact(text).split(/(\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ)/);
  return html`${parts.map((part, index) => (index % 2 === 1 ? time(Date.parse(part)) : part))}`;
}

const LONG = 500;

/** Text whose end is left out if it is long: its page shows the whole text. Other values stay as they are. */
export function clipped(text: string): string;
export function clipped(value: HtmlValue): HtmlValue;
export function clipped(value: HtmlValue): HtmlValue {
  return typeof value === 'string' ? cutText(value, LONG) : value;
}

/** Long text with its end folded, so that one value does not fill the screen. Other values stay as they are. */
export function long(value: HtmlValue): HtmlValue {
  if (typeof value !== 'string' || value.length <= LONG) return value;
  return [
    clipped(value),
    html`<details class="long">
      <summary>all ${formatCount(value.length)} characters</summary>
      ${value}
    </details>`,
  ];
}

/** Identifier; clipped, as a text of the service. */
export function idText(id: string): Html {
  return html`<span class="id">${clipped(id)}</span>`;
}

export function idLink(path: string, id: string): Html {
  return html`<a href="${path}" class="id">${clipped(id)}</a>`;
}

/** Text of a service in a box that keeps its lines. */
export function blockText(text: HtmlValue): Html {
  return html`<pre tabindex="0">${text}</pre>`;
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
          <dd>${Array.isArray(value) ? value.map(long) : long(value)}</dd>
        </div>`,
    )}
  </dl>`;
}

/** Message with commands between backticks, which are shown as code. */
export function message(text: string): Html {
  // Redacted as a whole: a secret may contain a backtick.
  const parts = redact(text).split('`');
  const isPaired = parts.length % 2 === 1;
  return html`${isPaired ? parts.map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part)) : text}`;
}

/** Field with the reason of an act, which the audit log records. */
export function reasonInput(isRequired = true): Html {
  return html`<label
    >Reason <input name="reason" maxlength="500" autocomplete="off" ${isRequired ? REQUIRED : undefined}
  /></label>`;
}

const REQUIRED = constantMarkup('required');

export type Heading = 'h2' | 'h3';

export function section(id: string, title: string, content: HtmlValue, heading: Heading = 'h2'): Html {
  return html`<section aria-labelledby="${id}">
    ${heading === 'h2' ? html`<h2 id="${id}">${title}</h2>` : html`<h3 id="${id}">${title}</h3>`} ${content}
  </section>`;
}

export function duration(ms: number | undefined): HtmlValue {
  if (ms === undefined) return undefined;
  return html`<span class="nowrap">${ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`}</span>`;
}
