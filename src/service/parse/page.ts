/** Parses pages: rows, their labels, and a cursor. */
import { labelsIn } from '#foundation/domain/labels.ts';
import { memoByText } from '#foundation/platform/memo.ts';
import { notLonger, jsonObject, parseJson, UnreadableField, type JsonObject } from './reader.ts';

export interface RawPage {
  readonly page: JsonObject;
  /** Number of parsed bytes. */
  readonly bytes: number;
  /** Absent at the end. */
  readonly cursor?: string;
}

/** Reviver with the third argument, which has the source text of a primitive. */
type SourceReviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;

/** Parses a response that is an object with an optional cursor. */
export function parsePage(body: Buffer): RawPage {
  const page = jsonObject(parseJson(body), 'answer');
  const cursor = cursorOf(page, body);
  return { page, bytes: body.length, cursor };
}

/** Returns the cursor. Cursors may exceed 2^53, so a numeric one is parsed again as text. */
function cursorOf(page: JsonObject, body: Buffer): string | undefined {
  const cursor = page['cursor'];
  if (cursor === undefined || cursor === null || cursor === '') return undefined;
  if (typeof cursor === 'string') return notLonger(cursor, 'cursor');
  if (typeof cursor !== 'number') throw new UnreadableField('cursor: not text');
  const keepText: SourceReviver = (key, value, context) =>
    key === 'cursor' && typeof value === 'number' ? context.source : value;
  const again = JSON.parse(body.toString('utf8'), keepText as (key: string, value: unknown) => unknown) as JsonObject;
  const text = again['cursor'];
  if (typeof text !== 'string') throw new UnreadableField('cursor: not text');
  return notLonger(text, 'cursor');
}

const NONE: readonly string[] = [];

/** Labels in a text. The same few texts appear in every row. */
const partsOf = memoByText(2_000, (text) => labelsIn([text]));

/** Returns the union of `label` and `labels`. Either may contain several labels separated by commas, with blanks. */
export function labelsOf(label: unknown, labels: unknown): readonly string[] {
  if (label !== undefined && label !== null && typeof label !== 'string') throw new UnreadableField('label: not text');
  const single = label === undefined || label === null || label === '' ? NONE : partsOf(notLonger(label, 'label'));
  if (labels === undefined || labels === null) return single;
  if (!isTexts(labels)) throw new UnreadableField('labels: not a list of texts');
  return [...new Set([...single, ...labels.flatMap((text) => partsOf(notLonger(text, 'labels')))])];
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
