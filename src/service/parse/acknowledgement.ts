/** Answers that only say that a write was done. */
import { MalformedAnswer, parseJson } from './reader.ts';

/** The management API says the JSON string OK; without its quotes it says the same. */
export function parseOk(body: Buffer): void {
  if (body.toString('utf8').trim() === 'OK') return;
  if (parseJson(body) !== 'OK') throw new MalformedAnswer('not the word OK');
}

/** The interface does not show this body: nothing, the word OK, or any JSON. */
export function parseAnything(body: Buffer): void {
  const text = body.toString('utf8').trim();
  if (text !== '' && text !== 'OK') parseJson(body);
}
