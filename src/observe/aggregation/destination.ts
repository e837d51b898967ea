/** Destination of a message, as used in labels and span names: few values, never a path. */
import { mayNameCredential } from '#foundation/domain/credential-names.ts';
import type { LogEntry } from '#foundation/domain/log-entry.ts';
import { memoByText } from '#foundation/platform/memo.ts';

const REMEMBERED = 2_000;

/**
 * Returns the URL Group, else the queue, else the host of the URL (with its port if it is not the scheme's default).
 *
 * @returns undefined if the entry names none of them
 */
export function destinationOf(entry: Pick<LogEntry, 'topicName' | 'queueName' | 'url'>): string | undefined {
  const named = nonEmpty(entry.topicName) ?? nonEmpty(entry.queueName);
  if (named !== undefined || entry.url === undefined) return named;
  return hostOf(entry.url);
}

/** Returns the host and port of a URL or of its beginning. */
const parsedHost = memoByText(REMEMBERED, (url) => URL.parse(url)?.host ?? '');

/**
 * Returns the host of a URL. There are many paths and few hosts: only the part before the path is parsed, and each such
 * part once.
 */
export function hostOf(url: string): string | undefined {
  const scheme = url.indexOf('://');
  if (scheme === -1) return undefined;
  let end = scheme + 3;
  while (end < url.length && !ENDS_HOST.has(url.charCodeAt(end))) end += 1;
  return nonEmpty(parsedHost(url.slice(0, end)));
}

const ENDS_HOST = new Set(['/', '?', '#', '\\'].map((character) => character.charCodeAt(0)));

/**
 * Returns a URL that is safe to store; undefined if the text is not a URL. The user info and fragment are removed and
 * secret query values are replaced.
 */
export function storableUrl(text: string): string | undefined {
  return stored(text) ?? undefined;
}

const stored = memoByText(REMEMBERED, (text) => withoutSecrets(text) ?? null);

function withoutSecrets(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null) return undefined;
  url.username = '';
  url.password = '';
  url.hash = '';
  // Most URLs have no query, and parsing one costs more than everything else here.
  if (url.search !== '') {
    for (const name of new Set(url.searchParams.keys())) {
      if (mayNameCredential(name)) url.searchParams.set(name, 'REDACTED');
    }
  }
  return url.href;
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}
