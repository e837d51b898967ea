/** Values of `Value` in PostgreSQL's types, in both directions. */
import type { CustomTypesConfig } from 'pg';
import type { Value } from '../database.ts';

/** Noncharacter of Unicode that escapes NUL, which PostgreSQL cannot store in a text. */
const ESCAPE = '\uFDD0';
const NUL = '\0';

/** Returns a text that PostgreSQL can store. Different texts stay different. */
function storable(text: string): string {
  if (!text.includes(NUL) && !text.includes(ESCAPE)) return text;
  return text.replaceAll(ESCAPE, `${ESCAPE}E`).replaceAll(NUL, `${ESCAPE}0`);
}

/** Returns the text that was stored with `storable`. */
function restored(text: string): string {
  if (!text.includes(ESCAPE)) return text;
  return text.replaceAll(`${ESCAPE}0`, NUL).replaceAll(`${ESCAPE}E`, ESCAPE);
}

/** Returns a parameter for the driver. A parameter of a set is a JSON array of texts. */
export function parameterOf(value: Value, isSet: boolean): unknown {
  if (typeof value === 'string') {
    return isSet ? (JSON.parse(value) as unknown[]).map((text) => storable(String(text))) : storable(value);
  }
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value;
}

const PARSERS: Readonly<Record<number, (text: string) => Value>> = {
  // bool: SQLite has 0 and 1.
  16: (text) => (text === 't' ? 1 : 0),
  17: (text) => new Uint8Array(Buffer.from(text.slice(2), 'hex')),
  // int8, int2, int4, oid, float4, float8, numeric: a sum of int8 is numeric.
  20: Number,
  21: Number,
  23: Number,
  26: Number,
  700: Number,
  701: Number,
  1700: Number,
};

/** Parsers of the driver's texts by the type of a column. JSON and all other types stay texts. */
export const TYPES: CustomTypesConfig = {
  getTypeParser: ((oid: number) => PARSERS[oid] ?? restored) as CustomTypesConfig['getTypeParser'],
};
