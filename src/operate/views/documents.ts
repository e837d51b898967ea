/** Documents and slices of views as compressed JSON. */
import { promisify } from 'node:util';
import { gunzip, gunzipSync, gzip } from 'node:zlib';
import type { ViewDocument } from './account-view.ts';

const compress = promisify(gzip);
const decompress = promisify(gunzip);

export function packed(text: string): Promise<Uint8Array> {
  return compress(text);
}

export async function unpackedRows(bytes: Uint8Array): Promise<readonly unknown[]> {
  return JSON.parse((await decompress(bytes)).toString('utf8')) as readonly unknown[];
}

/** Synchronous, because it runs between two statements of a transaction. A document is short. */
export function unpackedDocument(bytes: Uint8Array): ViewDocument {
  return JSON.parse(gunzipSync(bytes).toString('utf8')) as ViewDocument;
}
