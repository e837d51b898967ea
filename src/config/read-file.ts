/** Reader of text files, strictly: UTF-8, with a maximum size. */
import { readFileSync, statSync } from 'node:fs';
import { SourceText } from './source-text.ts';

/** Maximum size. A configuration with a thousand policies is smaller. */
const MOST_BYTES = 4 * 1024 * 1024;

export type ReadResult =
  | { readonly ok: true; readonly source: SourceText }
  | {
      readonly ok: false;
      readonly source: SourceText;
      readonly offset: number;
      readonly message: string;
      readonly help?: string;
    };

/** @param shown displayed path */
export function readSource(path: string, shown: string): ReadResult {
  const none = (message: string, help?: string): ReadResult => ({
    ok: false,
    source: new SourceText(shown, ''),
    offset: 0,
    message,
    help,
  });
  let bytes: Buffer;
  try {
    const stat = statSync(path);
    if (stat.isDirectory()) return none('this is a folder', 'name a file in it');
    if (stat.size > MOST_BYTES) return none(`the file is larger than ${MOST_BYTES} bytes`);
    bytes = readFileSync(path);
  } catch (error) {
    return none(unreadable(error));
  }
  try {
    return { ok: true, source: new SourceText(shown, new TextDecoder('utf-8', { fatal: true }).decode(bytes)) };
  } catch {
    const text = bytes.toString('utf8');
    const offset = text.search(/\uFFFD/u);
    return {
      ok: false,
      source: new SourceText(shown, text.replaceAll('\0', ' ')),
      offset: Math.max(0, offset),
      message: 'the file is not UTF-8 text',
      help: 'save it as UTF-8; the mark shows the first invalid byte',
    };
  }
}

/** Reads a text file without checks, for callers with their own checks. */
export function readText(path: string): string {
  return new TextDecoder('utf-8').decode(readFileSync(path));
}

/** Reason why a file cannot be read. */
export function unreadable(error: unknown): string {
  const code = (error as { readonly code?: unknown }).code;
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return 'the file does not exist';
    case 'EACCES':
    case 'EPERM':
      return 'the file cannot be read: permission denied';
    case 'EISDIR':
      return 'this is a folder';
    default:
      return `the file cannot be read: ${typeof code === 'string' ? code : 'unknown error'}`;
  }
}
