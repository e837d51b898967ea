/**
 * Reading answers: JSON text to values, field by field. Only the fields that are asked for are looked at. Absent and
 * null are the same; a field that is there but of another kind is unreadable, never guessed. No message made here
 * holds content of an answer.
 */
import { exceededJsonBound } from '#foundation/platform/json-bounds.ts';

/** A page of the interface has some ten thousand values, and nests six deep. */
const JSON_BOUNDS = { depth: 64, values: 250_000 };
/** Rows and fields of an answer that can be invalid before all of it is. Each costs an exception. */
const MOST_DROPS = 20_000;
/** Characters of an id or a name, at most. They are kept by the hundred thousand. */
const LONGEST_NAME = 1_024;
/** Characters of any other text, at most. HTTP servers take no longer URL. */
export const LONGEST_TEXT = 16_384;

/** The answer as a whole is not what the interface promises. */
export class MalformedAnswer extends Error {
  override readonly name: string = 'MalformedAnswer';
}

/** A field that is missing or of another kind. In a list it costs its row, elsewhere the answer. */
export class UnreadableField extends MalformedAnswer {
  override readonly name = 'UnreadableField';
}

/** Rows and fields that were left out of an answer. */
export class Drops {
  count = 0;
  /** The first of them: where, and what was expected. */
  example = '';

  add(description: string): void {
    if (this.count === 0) this.example = description;
    this.count += 1;
    if (this.count > MOST_DROPS) throw new MalformedAnswer(`more than ${MOST_DROPS} rows or fields are invalid`);
  }

  /** What `read` gives, or undefined and a count when the field is unreadable. */
  field<T>(read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof UnreadableField)) throw error;
      this.add(error.message);
      return undefined;
    }
  }
}

export type JsonObject = Readonly<Record<string, unknown>>;

/** Required members as they are, optional ones possibly undefined. */
export type Draft<T> = { [K in keyof T]-?: T[K] | (T extends Record<K, T[K]> ? never : undefined) };

/** The draft without its undefined members. */
export function compact<T extends object>(draft: Draft<T>): T {
  const result: Record<string, unknown> = {};
  for (const key in draft) {
    if (draft[key] !== undefined) result[key] = draft[key];
  }
  return result as T;
}

/** @throws {MalformedAnswer} */
export function parseJson(body: Buffer): unknown {
  const exceeded = exceededJsonBound(body, JSON_BOUNDS);
  if (exceeded !== undefined) throw new MalformedAnswer(exceeded);
  const text = body.toString('utf8');
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the text.
    const start = text.trimStart();
    if (start === '') throw new MalformedAnswer('the body is empty');
    if (start.startsWith('<')) throw new MalformedAnswer('a page instead of JSON');
    throw new MalformedAnswer('not JSON, or cut off');
  }
}

export function objectOf(value: unknown, what: string): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new UnreadableField(`${what}: not an object`);
  }
  return value as JsonObject;
}

/** The rows of a list; one that cannot be read is dropped and counted. A null list is an empty one. */
export function rowsOf<T>(
  drops: Drops,
  list: unknown,
  options: { what: string; parse: (row: JsonObject) => T; onDropped?: (row: unknown) => void },
): T[] {
  const { what, parse, onDropped } = options;
  if (list === null) return [];
  if (!Array.isArray(list)) throw new UnreadableField(`${what}: not a list`);
  const rows: T[] = [];
  for (let position = 0; position < list.length; position += 1) {
    try {
      rows.push(parse(objectOf(list[position], 'row')));
    } catch (error) {
      if (!(error instanceof UnreadableField)) throw error;
      drops.add(`${what}[${position}].${error.message}`);
      onDropped?.(list[position]);
    }
  }
  return rows;
}

/** Text; empty is absent. */
export function optionalText(row: JsonObject, field: string, longest = LONGEST_NAME): string | undefined {
  const text = anyText(row, field);
  return text === undefined ? undefined : notLonger(text, field, longest);
}

/** Text for people, of which the beginning is enough; empty is absent. */
export function optionalProse(row: JsonObject, field: string): string | undefined {
  return anyText(row, field)?.slice(0, LONGEST_TEXT);
}

export function requireText(row: JsonObject, field: string, longest = LONGEST_NAME): string {
  return present(optionalText(row, field, longest), field);
}

function anyText(row: JsonObject, field: string): string | undefined {
  const value = row[field];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') throw new UnreadableField(`${field}: not text`);
  return value;
}

/** Texts are kept: in listings, in the store, in the query for the next page. */
export function notLonger(text: string, field: string, longest = LONGEST_TEXT): string {
  if (text.length > longest) throw new UnreadableField(`${field}: longer than ${longest} characters`);
  return text;
}

/** A finite number, or the text of one. */
export function optionalNumber(row: JsonObject, field: string): number | undefined {
  const value = row[field];
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (value === undefined || value === null || value === '') return undefined;
  const number = typeof value === 'string' && /^-?\d+(?:\.\d+)?$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number)) throw new UnreadableField(`${field}: not a number`);
  return number;
}

export function requireNumber(row: JsonObject, field: string): number {
  return present(optionalNumber(row, field), field);
}

/** A whole number from 0 on. */
export function optionalCount(row: JsonObject, field: string): number | undefined {
  const number = optionalNumber(row, field);
  if (number === undefined) return undefined;
  if (!Number.isSafeInteger(number) || number < 0) throw new UnreadableField(`${field}: not a count`);
  return number;
}

export function requireCount(row: JsonObject, field: string): number {
  return present(optionalCount(row, field), field);
}

/** A limit for which the interface says that -1 means unlimited. */
export function optionalLimit(row: JsonObject, field: string): number | undefined {
  return optionalNumber(row, field) === -1 ? Infinity : optionalCount(row, field);
}

/** An HTTP status; 0 is how some say that there was no answer. */
export function optionalStatus(row: JsonObject, field: string): number | undefined {
  const status = optionalCount(row, field);
  return status === 0 ? undefined : status;
}

/** A boolean, or the text of one. */
export function optionalBoolean(row: JsonObject, field: string): boolean | undefined {
  const value = row[field];
  if (value === undefined || value === null || value === '') return undefined;
  if (value === true || value === 'true') return true;
  if (value === false || value === 'false') return false;
  throw new UnreadableField(`${field}: not true or false`);
}

export function present<T>(value: T | undefined, field: string): T {
  if (value === undefined) throw new UnreadableField(`${field}: missing`);
  return value;
}
