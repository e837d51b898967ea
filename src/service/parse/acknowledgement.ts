/** Parses responses that only acknowledge a write. */
import { MalformedAnswer, parseJson } from './reader.ts';

/** Accepts the JSON string OK of the management API, with or without quotes. */
export function parseOk(body: Buffer): void {
  if (body.toString('utf8').trim() === 'OK') return;
  if (parseJson(body) !== 'OK') throw new MalformedAnswer('not the word OK');
}

/** Accepts a body that the interface does not define: empty, OK, or any JSON. */
export function parseAnything(body: Buffer): void {
  const text = body.toString('utf8').trim();
  if (text !== '' && text !== 'OK') parseJson(body);
}
