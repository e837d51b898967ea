import { createHash } from 'node:crypto';

/** `sha256` of an edit. @param content.changed headers that were set, or removed by an empty value */
export function contentHash(content: {
  readonly body: Uint8Array;
  readonly changed?: Readonly<Record<string, string>>;
}): string {
  return createHash('sha256')
    .update(JSON.stringify(content.changed ?? {}))
    .update(content.body)
    .digest('hex');
}
