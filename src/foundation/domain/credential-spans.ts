/**
 * Places of credentials in a text: in URLs, after names, after schemes, by their form, and below percent encoding.
 *
 * Every search is linear in the length of the text, with a small constant: services and destinations choose these
 * texts, and a slow one would block the event loop. No position is the start of an unlimited search twice. Names,
 * schemes and logins are therefore found from the character that ends them, backward.
 */
import { knownSecrets } from './known-secrets.ts';
import { HINT, isCredentialName, mayNameCredential } from './credential-names.ts';

export const MASK = '[secret]';

/** Part of a text that must not be shown, and its replacement. */
export interface CredentialSpan {
  readonly start: number;
  readonly end: number;
  readonly shown: string;
}

/** Characters and forms that most texts lack. A text without them is not searched further. */
const OTHER_HINT = /@|:[\\/]|hawk|digest|basic|negotiate/i;
const SUSPECT = /[=:@]/;
/** Cheap parts of the forms below. */
const FORM_HINT = /\$2|eyJ|-----B|[a-z]_|t-|xox|AKIA|AIza/;
const FORM_START = /\$2|eyJ|-----BEGIN|[srp]k_(?:live|test)_|gh[pousr]_|github_pat_|xox|glpat-|sig_|AKIA|AIza/;
const SCHEME_WORD = /\b(bearer|hawk|digest|basic|negotiate|token)\s{1,3}(?=\S)/gi;

/** Finds the credentials of a text, in order and without overlap. */
export function credentialSpans(text: string): readonly CredentialSpan[] {
  const direct = directSpans(text);
  return text.includes('%') ? merged([...direct, ...encodedSpans(text, direct)]) : direct;
}

function directSpans(text: string): readonly CredentialSpan[] {
  return merged([...knownSpans(text), ...telltaleSpans(text)]);
}

/** Finds the credentials that this process knows, in order and without overlap. */
export function knownSpans(text: string): readonly CredentialSpan[] {
  return merged(knownSecrets(text).map(({ start, end }) => span(start, end)));
}

/** Finds credentials by the text around them, or by their form. */
function telltaleSpans(text: string): readonly CredentialSpan[] {
  const isSuspect = SUSPECT.test(text);
  const hasForm = FORM_HINT.test(text) && FORM_START.test(text);
  if (isSuspect && !hasForm && !HINT.test(text) && !OTHER_HINT.test(text)) return [];
  const spans = schemeSpans(text);
  if (hasForm) spans.push(...formSpans(text));
  if (isSuspect) spans.push(...urlSpans(text), ...pairSpans(text), ...loginSpans(text));
  return spans;
}

/** Returns the text with the spans replaced. */
export function replaced(text: string, spans: readonly CredentialSpan[]): string {
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
const AUTHORITY = /:[\\/]{2,4}/g;
const LONGEST_SCHEME = 31;

/** Finds user info, query and fragment of each URL, including a URL inside the path of another one. */
function urlSpans(text: string): CredentialSpan[] {
  const spans: CredentialSpan[] = [];
  let from = 0;
  let end = 0;
  let query = 0;
  let login = 0;
  AUTHORITY.lastIndex = 0;
  for (let found = AUTHORITY.exec(text); found !== null; found = AUTHORITY.exec(text)) {
    if (!hasScheme(text, from, found.index)) continue;
    const start = AUTHORITY.lastIndex;
    if (end <= start) {
      end = runEnd(text, start, SPACE);
      login = start + text.slice(start, end).lastIndexOf('@') + 1;
    }
    const host = Math.min(runEnd(text, start, HOST_END), end);
    const user = userInfoEnd(text.slice(start, host), start, login);
    if (user > start) spans.push(span(start, user, `${MASK}@`));
    if (query <= start || query < user) {
      query = Math.min(runEnd(text, Math.max(host, user), QUERY), end);
      if (query < end) spans.push(span(query, end - punctuationBefore(text, query + 1, end), ''));
    }
    AUTHORITY.lastIndex = from = query === host ? end : Math.max(host, user);
  }
  return spans;
}

/** Returns true if the characters before a colon are the scheme of a URL. */
function hasScheme(text: string, from: number, colon: number): boolean {
  for (let at = colon - 1; at >= Math.max(from, colon - LONGEST_SCHEME); at--) {
    const code = text.charCodeAt(at);
    if (isLetter(code)) return true;
    if (!isDigit(code) && code !== PLUS && code !== DOT && code !== HYPHEN) return false;
  }
  return false;
}

/**
 * Returns the end of `user:password@`. A slash in the password is a common mistake.
 *
 * @param login end of the last `@` in the word of the URL
 */
function userInfoEnd(authority: string, start: number, login: number): number {
  if (authority.includes('@')) return start + authority.lastIndexOf('@') + 1;
  const hasPassword = /^[^[\]:]*:(?!\d{0,5}[.,;:)]*$)/.test(authority);
  return hasPassword && login > start ? login : start;
}

const LOGIN_START = /[\s"'`=(<>,;|]/;
const LOGIN_EDGE = /[\s"'`@<>]/;
const NO_LOGIN = /^(?:mailto|sips?|acct|xmpp|npm):/i;
const LONGEST_USER = 64;
const LONGEST_PASSWORD = 1_024;

/** Finds `user:password@host` without a scheme. */
function loginSpans(text: string): CredentialSpan[] {
  const spans: CredentialSpan[] = [];
  for (let at = text.indexOf('@'); at !== -1; at = text.indexOf('@', at + 1)) {
    if (!/[\w[]/.test(text[at + 1] ?? '')) continue;
    let from = at;
    const first = Math.max(0, at - LONGEST_USER - LONGEST_PASSWORD - 1);
    while (from > first && !LOGIN_EDGE.test(text[from - 1]!)) from--;
    const start = loginStart(text, from, at);
    if (start !== undefined) spans.push(span(start, at + 1, `${MASK}@`));
  }
  return spans;
}

/** Returns the first start of a login that ends at `at`, in a part without blanks and quotes. */
function loginStart(text: string, from: number, at: number): number | undefined {
  const part = text.slice(from, at);
  const doubleSlash = part.lastIndexOf('//');
  let colon = part.indexOf(':');
  for (let start = 0; colon !== -1 && colon < part.length - 1; start++) {
    if (start > colon) colon = part.indexOf(':', start);
    const before = text[from + start - 1];
    if (colon <= start || (before !== undefined && !LOGIN_START.test(before))) continue;
    const user = part.slice(start, colon);
    const length = part.length - colon - 1;
    if (doubleSlash > colon || length < 1 || length > LONGEST_PASSWORD) continue;
    if (user.length > LONGEST_USER || user.includes('/')) continue;
    if (/^\d{1,5}\//.test(part.slice(colon + 1, colon + 7)) || NO_LOGIN.test(part.slice(start, colon + 1))) continue;
    return from + start;
  }
  return undefined;
}

const LONGEST_NAME = 80;

interface NameBefore {
  readonly name: string;
  /** True for data of others: a parameter, or a name in quotes. */
  readonly isForeign: boolean;
}

/** Returns the name that ends before a separator: `token`, `"token" `, `[token]`, `?token`. */
function nameBefore(text: string, separator: number): NameBefore | undefined {
  let end = separator;
  for (let spaces = 0; spaces < 3 && isSpace(text.charCodeAt(end - 1)); spaces++) end--;
  if (text[end - 1] === ']') end--;
  const isQuoted = isQuote(text.charCodeAt(end - 1));
  if (isQuoted) end = escapesBefore(text, end - 1);
  let start = end;
  while (end - start < LONGEST_NAME && isNameCharacter(text.charCodeAt(start - 1))) start--;
  if (start === end) return undefined;
  const name = decoded(text.slice(start, end)).replace(/^.*u00(?:26|3[df])/i, '');
  const isParameter = '?&;'.includes(text[start - 1] ?? ' ');
  return { name, isForeign: isParameter || (isQuoted && !/^(?:key|code)$/i.test(name)) };
}

/** Placeholder of a value. */
const NO_VALUE =
  /^(?:\$\{|(?:\[secret\]?|\*{3}|REDACTED(?::[\da-f]{64})?|null|undefined|none|true|false)(?=[\s"'`,;.:)}\]&<>@\\]|$))/i;

/** Finds values of names: `token=…`, `"password": "…"`, `Authorization: Bearer …`, `?key=…`. */
function pairSpans(text: string): CredentialSpan[] {
  const spans: CredentialSpan[] = [];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if ((code !== COLON && code !== EQUALS) || text.startsWith('://', at)) continue;
    const before = nameBefore(text, at);
    if (before === undefined) continue;
    const { name, isForeign } = before;
    if (!isCredentialName(name) && !(isForeign && mayNameCredential(name))) continue;
    const value = valueAfter(text, at, name);
    if (value === undefined) continue;
    if (value.end > value.start) spans.push(value);
    at = Math.max(at, value.end - 1);
  }
  return spans;
}

/** Returns the value after a separator; undefined if it is a placeholder or prose. */
function valueAfter(text: string, separator: number, name: string): CredentialSpan | undefined {
  let at = separator + (text.startsWith('=>', separator) ? 2 : 1);
  for (let blanks = 0; blanks < 40 && isBlank(text.charCodeAt(at)); blanks++) at++;
  const rest = text.slice(at, at + 60);
  if (NO_VALUE.test(rest.replace(/^\\{0,4}["'`]/, ''))) return undefined;
  // `accounts[0].token: required key is missing` describes a key and contains no value.
  if (name.includes('.') && text[separator] === ':' && /^[a-z]+,? [a-z]/.test(rest)) return undefined;
  return valueAt(text, at, name);
}

/** Returns the start of at most four backslashes, which escape a quote. */
function escapesBefore(text: string, end: number): number {
  let start = end;
  while (start > end - 4 && text[start - 1] === '\\') start--;
  return start;
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
  let end = 0;
  for (let at = text.indexOf('%'); at !== -1; at = text.indexOf('%', end)) {
    let start = at;
    while (start > end && !isSpace(text.charCodeAt(start - 1))) start--;
    end = runEnd(text, at, WHITE);
    const run = text.slice(start, end);
    while (first < direct.length && direct[first]!.end <= start) first++;
    if (!ESCAPE.test(run)) continue;
    let last = first;
    while (last < direct.length && direct[last]!.start < end) last++;
    const inside = direct
      .slice(first, last)
      .map((one) => span(Math.max(one.start, start) - start, Math.min(one.end, end) - start, one.shown));
    const shown = redactedDecoded(replaced(run, inside));
    if (shown !== undefined) spans.push(span(start, end, shown));
  }
  return spans;
}

const WHITE = /\s/g;
const ESCAPE = /%[\da-f]{2}/i;
const ESCAPES = /(?:%[\da-f]{2})+/gi;

/** Decodes up to three times, more than any accidental encoding. */
function redactedDecoded(run: string): string | undefined {
  const levels: string[] = [];
  for (let text = run; levels.length < 3 && ESCAPE.test(text);) levels.unshift((text = decoded(text)));
  for (const text of levels) {
    const spans = directSpans(text);
    if (spans.length > 0) return replaced(text, spans).replace(/\p{Cc}/gu, ' ');
  }
  return undefined;
}

/** Decodes without an exception, which would be the greater part of the cost. */
function decoded(text: string): string {
  if (!text.includes('%')) return text;
  return text.replace(ESCAPES, (escapes) => {
    if (escapes.length === 3) return String.fromCharCode(Number.parseInt(escapes.slice(1), 16));
    return Buffer.from(escapes.replaceAll('%', ''), 'hex').toString('utf8');
  });
}

const [PLUS, HYPHEN, DOT, COLON, EQUALS, PERCENT, UNDERSCORE] = [43, 45, 46, 58, 61, 37, 95];

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function isLetter(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90);
}

function isNameCharacter(code: number): boolean {
  return isLetter(code) || isDigit(code) || code === UNDERSCORE || code === DOT || code === PERCENT || code === HYPHEN;
}

function isQuote(code: number): boolean {
  return code === 34 || code === 39 || code === 96;
}

/** Blank, tab, or end of a line. */
function isBlank(code: number): boolean {
  return code === 32 || code === 9 || code === 10 || code === 13;
}

/** The same characters as `\s`. */
export function isSpace(code: number): boolean {
  return code <= 32 ? code === 32 || (code >= 9 && code <= 13) : code >= 160 && /\s/.test(String.fromCharCode(code));
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
