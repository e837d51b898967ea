/** Response of any operation as a table. */
import { isRecord } from '#foundation/domain/json.ts';
import { redactData } from '#foundation/domain/redact.ts';
import { printable, textTable } from '../output.ts';

/** Longest cell. The other formats have everything. */
const MAX_CELL = 60;

/** Returns a list, or the list of a page, as a table, and any other record as its fields. */
export function answerTable(answer: unknown): string {
  const value = redactData(answer);
  if (!isRecord(value)) return Array.isArray(value) ? listTable(value) : `${cell(value)}\n`;
  const fields = Object.entries(value);
  const [list, ...more] = fields.filter(([, inner]) => Array.isArray(inner));
  const others = fields.filter((field) => field !== list && field[1] !== '');
  const isPage = list !== undefined && more.length === 0 && others.every(([name]) => name === 'cursor');
  if (isPage)
    return listTable(list[1] as unknown[]) + others.map(([name, inner]) => `${name}: ${cell(inner)}\n`).join('');
  return textTable(
    ['FIELD', 'VALUE'],
    fields.map(([name, inner]) => [name, cell(inner)]),
  );
}

function listTable(rows: readonly unknown[]): string {
  if (rows.length === 0) return 'The list is empty.\n';
  const records = rows.map((row) => (isRecord(row) ? row : { value: row }));
  const columns = [...new Set(records.flatMap((row) => Object.keys(row)))];
  return textTable(
    columns,
    records.map((row) => columns.map((column) => cell(row[column]))),
  );
}

function cell(value: unknown): string {
  if (value === undefined || value === null) return '';
  const text = printable(typeof value === 'string' ? value : JSON.stringify(value));
  return text.length <= MAX_CELL ? text : `${text.slice(0, MAX_CELL - 1)}…`;
}
