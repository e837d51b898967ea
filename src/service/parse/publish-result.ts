/** Parses responses to writes: of a publish (interface 2.2), and those that only acknowledge. */
import type { PublishResult } from '../api.ts';
import { MalformedAnswer, jsonObject, optionalText, parseJson, requireText } from './reader.ts';

/** Parses an object, a list of them, or `{messages: [list]}`, with status 200 or 202. */
export function parsePublish(body: Buffer): readonly PublishResult[] {
  const json = parseJson(body);
  if (Array.isArray(json)) return json.map(parseResult);
  const { messages } = jsonObject(json, 'answer') as { readonly messages?: unknown };
  return Array.isArray(messages) ? messages.map(parseResult) : [parseResult(json)];
}

function parseResult(value: unknown): PublishResult {
  const row = jsonObject(value, 'message');
  return {
    messageId: requireText(row, 'messageId'),
    url: optionalText(row, 'url'),
  };
}

/** Accepts the JSON string OK of the management API, with or without quotes. */
export function parseOk(body: Buffer): void {
  if (body.toString('utf8').trim() === 'OK') return;
  if (parseJson(body) !== 'OK') throw new MalformedAnswer('not the word OK');
}
