/** Body and headers of the message in a failure callback, if they are certainly those of the message. */
import { z } from 'zod';
import type { CarriedMessage } from '#foundation/domain/carried-message.ts';
import type { BodyLack } from '#foundation/domain/dead-letter.ts';

const message = z.object({
  url: z.string().min(1).max(8_192),
  method: z.string().regex(/^[A-Z]{1,32}$/),
  sourceHeader: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
  sourceBody: z.string(),
});

/** Mark that the service writes in place of a redacted value. */
const REDACTED = /^REDACTED:[0-9a-f]{64}$/i;

/** @returns the message; or why its body cannot be kept, and its length (0 if unknown) */
export function sentMessage(callback: unknown): CarriedMessage | { readonly lack: BodyLack; readonly size: number } {
  const read = message.safeParse(callback);
  if (!read.success) return { lack: 'incomplete', size: 0 };
  const { url, method, sourceHeader, sourceBody } = read.data;
  const headers = Object.fromEntries(Object.entries(sourceHeader).map(([header, value]) => [header, [value].flat()]));
  const body = Buffer.from(sourceBody, 'base64');
  const size = body.length;
  // The service may encode the mark of a body; a mark has 73 bytes.
  const texts = [sourceBody, body.subarray(0, 74).toString('latin1'), ...Object.values(headers).flat()];
  if (texts.some((text) => REDACTED.test(text))) return { lack: 'redacted', size: 0 };
  // Node ignores what is no base64.
  if (body.toString('base64') !== sourceBody) return { lack: 'incomplete', size: 0 };
  const [, length] = Object.entries(headers).find(([header]) => header.toLowerCase() === 'content-length') ?? [];
  if (length?.some((value) => Number(value) !== size)) return { lack: 'length', size };
  return { url, method, headers, body };
}
