/** SQL of the stores as PostgreSQL expects it: `$1` instead of `?` and `?1`. */
import type { Dialect } from '../database.ts';

export const POSTGRES: Dialect = {
  // A parameter is sent as an array, because PostgreSQL's JSON functions reject some texts that JSON allows.
  members: (parameter) =>
    /^\?\d*$/.test(parameter)
      ? `(SELECT unnest(CAST(${parameter} AS text[])))`
      : `(SELECT json_array_elements_text(CAST(${parameter} AS json)))`,
  wanted: (parameter) => `unnest(CAST(${parameter} AS text[])) AS wanted (value)`,
  numbers: (parameter) => `(SELECT CAST(json_array_elements_text(CAST(${parameter} AS json)) AS bigint))`,
  jsonNumber: (text, member) => `CAST(CAST(${text} AS json) ->> '${member}' AS bigint)`,
  position: (text, part) => `strpos(${text}, ${part})`,
  locked: 'FOR UPDATE',
};

export interface Translated {
  readonly text: string;
  /** Numbers of the parameters that are sets of `members`. */
  readonly sets: ReadonlySet<number>;
  /** For an `INSERT` of one `VALUES` list that has all parameters: the same statement for a number of rows. */
  readonly ofRows?: (rows: number) => string;
}

/** Text in quotes, comment, or parameter. */
const TOKEN = /'(?:[^']|'')*'|"[^"]*"|--[^\n]*|\?(\d*)/g;
const SET = /CAST\(\$(\d+) AS text\[\]\)/g;

const known = new Map<string, Translated>();

export function translate(sql: string): Translated {
  let translated = known.get(sql);
  if (translated === undefined) known.set(sql, (translated = translation(sql)));
  return translated;
}

function translation(sql: string): Translated {
  const text = comparedWithArrays(numbered(sql, 0));
  const sets = new Set([...text.matchAll(SET)].map((match) => Number(match[1])));
  const ofRows = sets.size === 0 ? manyRows(sql) : undefined;
  return { text, sets, ofRows };
}

/** Numbers the parameters of `sql` after the first `taken` ones. */
function numbered(sql: string, taken: number): string {
  let last = taken;
  return sql.replaceAll(TOKEN, (token, number: string | undefined) => {
    if (number === undefined) return token;
    return `$${number === '' ? (last += 1) : Number(number) + taken}`;
  });
}

/** Replaces subqueries of sets, which PostgreSQL may read again for each row, by arrays, which it hashes. */
function comparedWithArrays(sql: string): string {
  return sql.replaceAll(/\b(NOT )?IN \(SELECT unnest\((CAST\(\$\d+ AS text\[\]\))\)\)/g, (_all, not, array) =>
    not === undefined ? `= ANY (${array})` : `<> ALL (${array})`,
  );
}

function parametersIn(sql: string): readonly string[] {
  return [...sql.matchAll(TOKEN)].flatMap((match) => (match[1] === undefined ? [] : [match[0]]));
}

function manyRows(sql: string): Translated['ofRows'] {
  const found = /^\s*INSERT\b[^?]*?\bVALUES\s*(?=\()/.exec(sql);
  if (found === null) return undefined;
  const start = found[0].length;
  const end = start + lengthOfParentheses(sql.slice(start));
  const [head, list, tail] = [sql.slice(0, start), sql.slice(start, end), sql.slice(end)];
  const parameters = parametersIn(list);
  // Other parameters would have to be the same in all rows.
  if (parametersIn(tail).length > 0 || parameters.some((parameter) => parameter !== '?')) return undefined;
  return (rows) =>
    head + Array.from({ length: rows }, (_, row) => numbered(list, row * parameters.length)).join(', ') + tail;
}

/** Returns the length of the parenthesized text at the start of `sql`. */
function lengthOfParentheses(sql: string): number {
  let depth = 0;
  for (const match of sql.matchAll(/'(?:[^']|'')*'|[()]/g)) {
    if (match[0] === '(') depth += 1;
    if (match[0] === ')') depth -= 1;
    if (depth === 0) return match.index + 1;
  }
  return sql.length;
}
