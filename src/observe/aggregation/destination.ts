/** Where a message goes, in the words of labels and span names: low in number, never a path. */
import { mayNameCredential } from '#foundation/domain/credential-names.ts';
import type { LogEntry } from '#foundation/domain/log-entry.ts';
import { memoByText } from '#foundation/platform/memo.ts';

const REMEMBERED = 2_000;

/**
 * The URL Group, else the queue, else the host of the URL (with its port when it is not the scheme's own).
 *
 * @returns undefined when the entry names none of them
 */
export function destinationOf(entry: Pick<LogEntry, 'topicName' | 'queueName' | 'url'>): string | undefined {
  const named = nonEmpty(entry.topicName) ?? nonEmpty(entry.queueName);
  if (named !== undefined || entry.url === undefined) return named;
  return hostOf(entry.url);
}

/** The host with its port, of a URL or of its beginning. */
const parsedHost = memoByText(REMEMBERED, (url) => URL.parse(url)?.host ?? '');

/** Paths are many and hosts are few: only what stands before the path is parsed, and each once. */
export function hostOf(url: string): string | undefined {
  const scheme = url.indexOf('://');
  if (scheme === -1) return undefined;
  let end = scheme + 3;
  while (end < url.length && !ENDS_HOST.has(url.charCodeAt(end))) end += 1;
  return nonEmpty(parsedHost(url.slice(0, end)));
}

const ENDS_HOST = new Set(['/', '?', '#', '\\'].map((character) => character.charCodeAt(0)));

/** A URL that may be stored: no user info, no fragment, secret query values replaced; undefined when it is not a URL. */
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
  // Most have no query, and taking one apart costs more than all the rest.
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
