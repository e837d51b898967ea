/** Parses the response to a publish (interface 2.2): one result, or one for each endpoint of a URL Group. */
import type { PublishResult } from '../api.ts';
import { objectOf, optionalBoolean, optionalText, parseJson, requireText } from './reader.ts';

/** Parses an object, a list of them, or `{messages: [list]}`, with status 200 or 202. */
export function parsePublish(body: Buffer): readonly PublishResult[] {
  const json = parseJson(body);
  if (Array.isArray(json)) return json.map(parseResult);
  const { messages } = objectOf(json, 'answer') as { readonly messages?: unknown };
  return Array.isArray(messages) ? messages.map(parseResult) : [parseResult(json)];
}

function parseResult(value: unknown): PublishResult {
  const row = objectOf(value, 'message');
  return {
    messageId: requireText(row, 'messageId'),
    deduplicated: optionalBoolean(row, 'deduplicated') ?? false,
    url: optionalText(row, 'url'),
  };
}
