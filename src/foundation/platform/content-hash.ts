import { hash } from 'node:crypto';
import type { CarriedMessage } from '../domain/carried-message.ts';

/** Returns the SHA-256 of what an edit changes. */
export function contentHash({ body, changed = {} }: CarriedMessage): string {
  return hash('sha256', Buffer.concat([Buffer.from(JSON.stringify(changed)), body]), 'hex');
}
