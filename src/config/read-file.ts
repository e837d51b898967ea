/** Reads a file of text, strictly: UTF-8, of a sane size. */
import { readFileSync, statSync } from 'node:fs';
import { SourceText } from './source-text.ts';

/** A configuration of a thousand policies has less. */
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

/** @param shown the path as people know it */
export function readSource(path: string, shown: string): ReadResult {
  const none = (message: string, help?: string): ReadResult => ({
    ok: false,
    source: new SourceText(shown, ''),
    offset: 0,
    message,
    ...(help === undefined ? {} : { help }),
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
      help: 'save it as UTF-8; the byte marked is the first that is not',
    };
  }
}

/** A file of text as it is, whatever it is: for those who look into it themselves. */
export function readText(path: string): string {
  return new TextDecoder('utf-8').decode(readFileSync(path));
}

/** Why a file cannot be read, in plain words. */
export function unreadable(error: unknown): string {
  const code = (error as { readonly code?: unknown }).code;
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return 'there is no such file';
    case 'EACCES':
    case 'EPERM':
      return 'the file cannot be read: permission denied';
    case 'EISDIR':
      return 'this is a folder';
    default:
      return `the file cannot be read: ${typeof code === 'string' ? code : 'unknown error'}`;
  }
}
