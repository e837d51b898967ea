/**
 * Removes credentials from everything that leaves the process: errors, logs, the API, pages, notifications, spans,
 * audit records, metric labels, and command output. Ids, hosts and paths stay.
 */
import { isCredentialName, mayNameCredential } from './credential-names.ts';

export const MASK = '[secret]';

/** Part of a text that must not be shown, and its replacement. */
export interface CredentialSpan {
  readonly start: number;
  readonly end: number;
  readonly shown: string;
}

/**
 * Maximum length; longer texts are truncated. Each pattern below is bounded, so that the cost is linear in the length.
 */
const LONGEST_TEXT = 65_536;

/** Characters and forms that most texts lack. A text without them is not searched further. */
const SUSPECT = /[=:@]/;
const FORM_START = /\$2|eyJ|-----BEGIN|[srp]k_(?:live|test)_|gh[pousr]_|github_pat_|xox|glpat-|sig_|AKIA|AIza/;
const SCHEME_WORD = /\b(bearer|hawk|digest|basic|negotiate|token)\s{1,3}(?=\S)/gi;

/** Returns the text without its credentials. URLs lose their query and fragment. */
export function redact(text: string): string {
  if (text.length <= LONGEST_TEXT) return replaced(text, credentialSpans(text));
  // The truncation must not leave the first half of a credential, which would not be recognized.
  const end = Math.max(0, text.lastIndexOf(' ', LONGEST_TEXT));
  return `${redact(text.slice(0, end))}…`;
}

/** Returns plain data with all texts redacted. Values of fields with credential names are hidden. */
export function redactData<T>(data: T): T {
  return redactValue(data) as T;
}

function redactValue(value: unknown): unknown {
  if (typeof value === 'string') return redact(value);
  if (typeof value !== 'object' || value === null) return value;
  if ('toJSON' in value && typeof value.toJSON === 'function') return redactValue(value.toJSON());
  if (Array.isArray(value)) {
    // Header as a pair: name and value.
    const isPair = value.length === 2 && typeof value[0] === 'string' && isCredentialName(value[0]);
    return isPair ? [value[0], hidden(value[1])] : value.map(redactValue);
  }
  const { name, key, header } = value as Readonly<Record<string, unknown>>;
  const isNamed = [name, key, header].some((text) => typeof text === 'string' && isCredentialName(text));
  return Object.fromEntries(
    Object.entries(value).map(([field, inner]) => {
      const { shown, isCredential } = fieldOf(field);
      const isHidden = isCredential || (isNamed && /^values?$/i.test(field));
      return [shown, isHidden ? hidden(inner) : redactValue(inner)];
    }),
  );
}

interface Field {
  readonly shown: string;
  readonly isCredential: boolean;
}

/** Cache of field names, which are few. */
const FIELDS = new Map<string, Field>();
const MOST_FIELDS = 1_000;

function fieldOf(name: string): Field {
  const known = FIELDS.get(name);
  if (known !== undefined) return known;
  const field = { shown: redact(name), isCredential: isCredentialName(name) };
  if (FIELDS.size < MOST_FIELDS && name.length <= 100) FIELDS.set(name, field);
  return field;
}

function hidden(value: unknown): unknown {
  return value === null || value === undefined || value === '' || typeof value === 'boolean' ? value : MASK;
}

/** Finds the credentials of a text, in order and without overlap. */
export function credentialSpans(text: string): readonly CredentialSpan[] {
  const direct = directSpans(text);
  return text.includes('%') ? merged([...direct, ...encodedSpans(text, direct)]) : direct;
}

function directSpans(text: string): readonly CredentialSpan[] {
  const spans = schemeSpans(text);
  if (FORM_START.test(text)) spans.push(...formSpans(text));
  if (SUSPECT.test(text)) spans.push(...urlSpans(text), ...pairSpans(text));
  if (text.includes('@')) spans.push(...loginSpans(text));
  return merged(spans);
}

function replaced(text: string, spans: readonly CredentialSpan[]): string {
  if (spans.length === 0) return text;
  let shown = '';
  let at = 0;
  for (const span of spans) {
    shown += text.slice(at, span.start) + span.shown;
    at = span.end;
  }
  return shown + text.slice(at);
}

/** Sorts spans and merges those that overlap. */
function merged(spans: readonly CredentialSpan[]): readonly CredentialSpan[] {
  if (spans.length < 2) return spans;
  const list: CredentialSpan[] = [];
  for (const next of spans.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    const last = list.at(-1);
    if (last === undefined || next.start >= last.end) list.push(next);
    else if (next.end > last.end) list[list.length - 1] = span(last.start, next.end);
  }
  return list;
}

function span(start: number, end: number, shown = MASK): CredentialSpan {
  return { start, end, shown };
}

const SPACE = /[\s"'`<>]/g;
const HOST_END = /[\s"'`<>\\/?#]/g;
const QUERY = /[\s"'`<>?#]/g;
const SCHEME = /[a-z][a-z\d+.-]{0,30}:[\\/]{2,4}/gi;

/** Finds user info, query and fragment of each URL, including a URL inside the path of another one. */
function urlSpans(text: string): CredentialSpan[] {
  const spans: CredentialSpan[] = [];
  let end = 0;
  let query = 0;
  SCHEME.lastIndex = 0;
  for (let found = SCHEME.exec(text); found !== null; found = SCHEME.exec(text)) {
    const start = SCHEME.lastIndex;
    if (end <= start) end = runEnd(text, start, SPACE);
    const host = Math.min(runEnd(text, start, HOST_END), end);
    const user = start + userInfoLength(text.slice(start, end), host - start);
    if (user > start) spans.push(span(start, user, `${MASK}@`));
    if (query <= start || query < user) query = Math.min(runEnd(text, Math.max(host, user), QUERY), end);
    if (query < end) spans.push(span(query, end - punctuationBefore(text, query + 1, end), ''));
    SCHEME.lastIndex = query === host ? end : Math.max(host, user);
  }
  return spans;
}

/** Returns the length of `user:password@`. A slash in the password is a common mistake. */
function userInfoLength(url: string, hostEnd: number): number {
  const authority = url.slice(0, hostEnd);
  if (authority.includes('@')) return authority.lastIndexOf('@') + 1;
  const hasPassword = /^[^[\]:]*:(?!\d{0,5}[.,;:)]*$)/.test(authority);
  return hasPassword ? url.lastIndexOf('@') + 1 : 0;
}

/** `user:password@host` without a scheme. */
const LOGIN =
  /(?<![^\s"'`=(<>,;|])(?!(?:mailto|sips?|acct|xmpp|npm):)[^\s"'`/@:<>]{1,64}:(?!\d{1,5}\/)(?:(?!\/\/)[^\s"'`@<>]){1,256}@(?=[\w[])/gi;

function loginSpans(text: string): CredentialSpan[] {
  return Array.from(text.matchAll(LOGIN), ({ index, 0: all }) => span(index, index + all.length, `${MASK}@`));
}

/** Separator between a name and its value. */
const SEPARATOR = /=>|[=:]/g;
const NAME_BEFORE = /([?&;]?)([\w.%-]{1,80})(?:\\{0,4}["'`])?\]?\s{0,3}$/;
/** Placeholder of a value. */
const NO_VALUE =
  /^(?:\$\{|(?:\[secret\]?|\*{3}|REDACTED(?::[\da-f]{64})?|null|undefined|none|true|false)(?=[\s"'`,;.:)}\]&<>@\\]|$))/i;

/** Finds values of names: `token=…`, `"password": "…"`, `Authorization: Bearer …`, `?key=…`. */
function pairSpans(text: string): CredentialSpan[] {
  const spans: CredentialSpan[] = [];
  SEPARATOR.lastIndex = 0;
  for (let found = SEPARATOR.exec(text); found !== null; found = SEPARATOR.exec(text)) {
    if (text.startsWith('://', found.index)) continue;
    const before = NAME_BEFORE.exec(text.slice(Math.max(0, found.index - 90), found.index));
    if (before === null) continue;
    const name = decoded(before[2]!).replace(/^.*u00(?:26|3[df])/i, '');
    const isForeign = before[1] !== '' || (/["'`]\]?\s*$/.test(before[0]) && !/^(?:key|code)$/i.test(name));
    if (!isCredentialName(name) && !(isForeign && mayNameCredential(name))) continue;
    const at =
      SEPARATOR.lastIndex +
      /^[\t\r\n ]{0,40}/.exec(text.slice(SEPARATOR.lastIndex, SEPARATOR.lastIndex + 40))![0].length;
    const rest = text.slice(at, at + 60);
    if (NO_VALUE.test(rest.replace(/^\\{0,4}["'`]/, ''))) continue;
    // `accounts[0].token: required key is missing` describes a key and contains no value.
    if (name.includes('.') && found[0] === ':' && /^[a-z]+,? [a-z]/.test(rest)) continue;
    const value = valueAt(text, at, name);
    if (value.end > value.start) spans.push(value);
    SEPARATOR.lastIndex = Math.max(SEPARATOR.lastIndex, value.end);
  }
  return spans;
}

function valueAt(text: string, at: number, name: string): CredentialSpan {
  const opening = /^(\\{0,4})(["'`])/.exec(text.slice(at, at + 5));
  if (opening !== null) {
    const start = at + opening[0].length;
    return span(start, quoteEnd(text, start, opening));
  }
  if (/^[[{]/.test(text.slice(at, at + 1))) return span(at, runEnd(text, at, /[\]}\n]/g));
  if (/cookie$/i.test(name)) return span(at, runEnd(text, at, /[\r\n"'`}]/g));
  if (/authorization$/i.test(name)) {
    const scheme = /^[a-z][\w-]{0,30}[\t ]{1,3}(?=\S)/i.exec(text.slice(at, at + 40))?.[0] ?? '';
    const isList = /^\w+=/.test(text.slice(at + scheme.length, at + scheme.length + 40));
    const end = runEnd(text, at + scheme.length, isList ? /[\r\n}]/g : /[\s"'`<>]/g);
    return span(at, end - punctuationBefore(text, at, end));
  }
  const end = runEnd(text, at, /[\s"'`<>&]/g);
  return span(at, end - punctuationBefore(text, at, end));
}

function quoteEnd(text: string, start: number, [all, escapes, quote]: RegExpExecArray): number {
  if (escapes !== '') {
    const end = text.indexOf(all, start);
    return end === -1 ? text.length : end;
  }
  for (let at = start; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === quote) return at;
  }
  return text.length;
}

const PROSE =
  /^(?:auth\w*|tokens?|credentials?|realm|schemes?|headers?|challenge|is|was|are|has|and|or|of|for|in|on|to|the|an?|not|required|missing|invalid|expired|rejected|refused|error)\b/i;

/** Forms of a value after the name of its scheme. Other words there are prose. */
const SCHEME_VALUE: Readonly<Record<string, RegExp>> = {
  basic: /^(?=.*[\dA-Z+=])[\w+/=-]{6,}$/,
  negotiate: /^(?=.*[\dA-Z+=])[\w+/=-]{6,}$/,
  token: /^(?=.*\d)(?=.*[a-z])[\w+/.=~-]{8,}$/i,
};

/** Finds `Bearer …` and `Basic …` without a preceding name. */
function schemeSpans(text: string): CredentialSpan[] {
  return Array.from(text.matchAll(SCHEME_WORD)).flatMap((match) => {
    const start = match.index + match[0].length;
    const run = runEnd(text, start, /[\s"'`<>,;]/g);
    const end = run - punctuationBefore(text, start, run);
    const value = text.slice(start, Math.min(end, start + 200));
    const isValue = SCHEME_VALUE[match[1]!.toLowerCase()]?.test(value) ?? true;
    return !isValue || PROSE.test(value) || NO_VALUE.test(value) ? [] : [span(start, end)];
  });
}

/** Credentials that are recognized by their form. */
const FORMS: readonly RegExp[] = [
  /(?<![\w-])eyJ[\w-]{4,4096}\.[\w-]{1,8192}(?:\.[\w-]{0,4096})?/g,
  /(?<![\w-])(?:[srp]k_(?:live|test)_|gh[pousr]_|github_pat_|xox[abposr]-|glpat-|sig_|AKIA|AIza)[\w-]{12,255}/g,
  /\$2[abxy]?\$\d\d\$[./\w]{8,60}/g,
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?=(?:\s|\\[rn])*[\w+/]{4})(?:[^-]|-(?!----))*/g,
];

function formSpans(text: string): CredentialSpan[] {
  return FORMS.flatMap((form) =>
    Array.from(text.matchAll(form), ({ index, 0: all }) => span(index, index + all.length)),
  );
}

/** Finds credentials that are visible only after decoding. The decoded part replaces the original. */
function encodedSpans(text: string, direct: readonly CredentialSpan[]): CredentialSpan[] {
  const spans: CredentialSpan[] = [];
  let first = 0;
  for (const { index, 0: run } of text.matchAll(/\S+/g)) {
    const end = index + run.length;
    while (first < direct.length && direct[first]!.end <= index) first++;
    if (!/%[\da-f]{2}/i.test(run)) continue;
    let last = first;
    while (last < direct.length && direct[last]!.start < end) last++;
    const inside = direct
      .slice(first, last)
      .map((one) => span(Math.max(one.start, index) - index, Math.min(one.end, end) - index, one.shown));
    const shown = redactedDecoded(replaced(run, inside));
    if (shown !== undefined) spans.push(span(index, end, shown));
  }
  return spans;
}

/** Decodes up to three times, more than any accidental encoding. */
function redactedDecoded(run: string): string | undefined {
  const levels: string[] = [];
  for (let text = run; levels.length < 3 && text.includes('%');) levels.unshift((text = decoded(text)));
  for (const text of levels) {
    const spans = directSpans(text);
    if (spans.length > 0) return replaced(text, spans).replace(/\p{Cc}/gu, ' ');
  }
  return undefined;
}

function decoded(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text.replace(/%([\da-f]{2})/gi, (_all, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  }
}

function runEnd(text: string, from: number, stop: RegExp): number {
  stop.lastIndex = from;
  return stop.exec(text)?.index ?? text.length;
}

/** Returns the number of characters before `end` that end a sentence or a bracket rather than a value. */
function punctuationBefore(text: string, start: number, end: number): number {
  let at = end;
  while (at > start && ').,:;]}'.includes(text[at - 1]!)) at--;
  return end - at;
}
