/** Small pieces that all parts of the page use. */
import { formatAge, formatTime, machineTime } from '../api/format.ts';
import { html, type Html, type HtmlValue } from './html.ts';

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
