/** Parses responses that only acknowledge a write. */
import { MalformedAnswer, parseJson } from './reader.ts';

/** Accepts the JSON string OK of the management API, with or without quotes. */
export function parseOk(body: Buffer): void {
  if (body.toString('utf8').trim() === 'OK') return;
  if (parseJson(body) !== 'OK') throw new MalformedAnswer('not the word OK');
}
