/** Times that people give to a command or the API: a duration before or after now, a date, or epoch milliseconds. */
import { parseDuration } from './duration.ts';

/** At least 13 digits, since 10 are seconds; at most 15, so that each is a valid date. */
const EPOCH_MS = String.raw`\d{13,15}`;
const DURATION = String.raw`(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+`;
/** Days that exist only: Date.parse() reads February 30 as March 2. */
const LEAP_YEAR = String.raw`(?:\d\d[2468][048]|\d\d[13579][26]|\d\d0[48]|[02468][048]00|[13579][26]00)`;
const MONTH_DAY = String.raw`(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8]))`;
const DAY = String.raw`(?:${LEAP_YEAR}-02-29|\d{4}-${MONTH_DAY})`;
const ZONE = String.raw`(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)`;
const TIME = String.raw`(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?${ZONE}?`;
// bounded: each part of a duration ends with its unit
export const PAST_TIME = new RegExp(`^(?:${EPOCH_MS}|${DURATION}|${DAY}(?:T${TIME})?)$`);
/** Longest text of a time. A duration of this length is finite. */
export const MAX_PAST_TIME = 40;
export const PAST_TIME_FORM = 'epoch milliseconds (13 digits), ISO 8601, or a duration before now such as 2h';

/** Returns epoch milliseconds, at least 0; undefined if the text is no `PAST_TIME`. */
export function pastTime(text: string, now: number): number | undefined {
  return timeAt(text, (ago) => now - ago);
}

/** Same for a time to come: a duration is one from now. */
export function futureTime(text: string, now: number): number | undefined {
  return timeAt(text, (ahead) => now + ahead);
}

function timeAt(text: string, relative: (ms: number) => number): number | undefined {
  if (text.length > MAX_PAST_TIME || !PAST_TIME.test(text)) return undefined;
  if (/^\d+$/.test(text)) return Number(text);
  const ms = parseDuration(text);
  return Math.max(0, ms === undefined ? Date.parse(text) : relative(ms));
}
