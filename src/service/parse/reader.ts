/**
 * Reads responses: JSON text to values, field by field. Only requested fields are read. Absent and null are equal. A
 * field of another type is unreadable, and its value is never guessed. Error messages contain no content of a response.
 */
import { LARGEST } from '#foundation/domain/statistics.ts';
import { exceededJsonBound } from '#foundation/platform/json-bounds.ts';

/** Bounds for a response. A page of the interface has about ten thousand values in at most six levels. */
const JSON_BOUNDS = { depth: 64, values: 250_000 };
/** Maximum number of invalid rows and fields before the whole response is invalid. Each costs an exception. */
const MOST_DROPS = 20_000;
/** Maximum length of an id or name in characters. Hundreds of thousands of them are kept. */
const LONGEST_NAME = 1_024;
/** Maximum length of any other text in characters. HTTP servers accept no longer URL. */
export const LONGEST_TEXT = 16_384;

/** Error for a whole response that does not match the interface. */
export class MalformedAnswer extends Error {
  override readonly name: string = 'MalformedAnswer';
}

/** Error for a missing field or one of another type. In a list it invalidates the row, elsewhere the response. */
export class UnreadableField extends MalformedAnswer {
  override readonly name = 'UnreadableField';
}

/** Error for a readable number outside of its range. */
class InvalidValue extends UnreadableField {}

/** Dropped rows and fields of a response. */
export class Drops {
  count = 0;
  /** Number of these that are values outside of their range. */
  values = 0;
  /** Description of the first one: its position, and the expected value. */
  example = '';

  /** @param place position of the row in the response */
  add(error: UnreadableField, place = ''): void {
    if (this.count === 0) this.example = `${place}${error.message}`;
    this.count += 1;
    if (error instanceof InvalidValue) this.values += 1;
    if (this.count > MOST_DROPS) throw new MalformedAnswer(`more than ${MOST_DROPS} rows or fields are invalid`);
  }

  /** Returns the result of `read`. If the field is unreadable, counts it and returns undefined. */
  field<T>(read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof UnreadableField)) throw error;
      this.add(error);
      return undefined;
    }
  }
}

export type JsonObject = Readonly<Record<string, unknown>>;

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
    if (start.startsWith('<')) throw new MalformedAnswer('an HTML page instead of JSON');
    throw new MalformedAnswer('not JSON, or truncated');
  }
}

export function jsonObject(value: unknown, what: string): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new UnreadableField(`${what}: not an object`);
  }
  return value as JsonObject;
}

/** Returns the rows of a list. An unreadable row is dropped and counted. A null list is empty. */
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
      rows.push(parse(jsonObject(list[position], 'row')));
    } catch (error) {
      if (!(error instanceof UnreadableField)) throw error;
      drops.add(error, `${what}[${position}].`);
      onDropped?.(list[position]);
    }
  }
  return rows;
}

/** Returns a text; an empty one counts as absent. */
export function optionalText(row: JsonObject, field: string, longest = LONGEST_NAME): string | undefined {
  return textIn(row[field], field, longest);
}

export function textIn(value: unknown, field: string, longest = LONGEST_NAME): string | undefined {
  const text = anyText(value, field);
  return text === undefined ? undefined : notLonger(text, field, longest);
}

/** Returns a readable text, truncated to the maximum length; an empty one counts as absent. */
export function proseIn(value: unknown, field: string): string | undefined {
  return anyText(value, field)?.slice(0, LONGEST_TEXT);
}

export function requireText(row: JsonObject, field: string, longest = LONGEST_NAME): string {
  return present(optionalText(row, field, longest), field);
}

function anyText(value: unknown, field: string): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') throw new UnreadableField(`${field}: not text`);
  return value;
}

/** Checks the length of a text, because texts are kept in listings, in the store and in the query for the next page. */
export function notLonger(text: string, field: string, longest = LONGEST_TEXT): string {
  if (text.length > longest) throw new UnreadableField(`${field}: longer than ${longest} characters`);
  return text;
}

/** Returns a finite number, also from its text form. */
export function optionalNumber(row: JsonObject, field: string): number | undefined {
  return numberIn(row[field], field);
}

export function numberIn(value: unknown, field: string): number | undefined {
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (value === undefined || value === null || value === '') return undefined;
  const number = typeof value === 'string' && /^-?\d+(?:\.\d+)?$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number') throw new UnreadableField(`${field}: not a number`);
  // JSON has no infinity: this is a number beyond all ranges.
  if (!Number.isFinite(number)) throw new InvalidValue(`${field}: not a finite number`);
  return number;
}

/** Returns a number from 0 to `largest`. */
export function optionalAmount(row: JsonObject, field: string, largest: number): number | undefined {
  return amountIn(row[field], field, largest);
}

function amountIn(value: unknown, field: string, largest: number): number | undefined {
  const number = numberIn(value, field);
  if (number === undefined) return undefined;
  if (number < 0 || number > largest) throw new InvalidValue(`${field}: not from 0 to ${largest}`);
  return number;
}

/** Returns an integer from 0 to `largest`. */
export function optionalCount(row: JsonObject, field: string, largest: number = LARGEST.count): number | undefined {
  return countIn(row[field], field, largest);
}

export function countIn(value: unknown, field: string, largest: number = LARGEST.count): number | undefined {
  const number = amountIn(value, field, largest);
  if (number !== undefined && !Number.isInteger(number)) throw new InvalidValue(`${field}: not a count`);
  return number;
}

export function requireCount(row: JsonObject, field: string): number {
  return present(optionalCount(row, field), field);
}

/** Returns a limit; -1 means unlimited in the interface. */
export function optionalLimit(row: JsonObject, field: string): number | undefined {
  return optionalNumber(row, field) === -1 ? Infinity : optionalCount(row, field, Number.MAX_SAFE_INTEGER);
}

/** Returns an HTTP status. Some services use 0 for a missing response. */
export function optionalStatus(row: JsonObject, field: string): number | undefined {
  return statusIn(row[field], field);
}

export function statusIn(value: unknown, field: string): number | undefined {
  const status = countIn(value, field);
  return status === 0 ? undefined : status;
}

/** Returns a boolean, also from its text form. */
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
