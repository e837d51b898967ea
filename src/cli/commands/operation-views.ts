/** Views of responses of the service. Each takes any response, because the service may change. */
import { isRecord, recordsOf } from '#foundation/domain/json.ts';
import { suggestion } from '#foundation/domain/suggest.ts';
import { CommandError, type Call } from '../command.ts';
import { rowsText } from '../list.ts';
import { LIST_FORMATS, printable } from '../output.ts';
import { listTable, type Column } from '#operate/show/text-table.ts';
import { answerTable } from './api-table.ts';
import type { AnswerView } from './operation-call.ts';

type Row = Readonly<Record<string, unknown>>;

/** Every field of a record, one on each line, and none truncated. */
export const ANSWER_FIELDS: AnswerView = {
  formats: ['table', 'json', 'yaml'],
  text: (answer) =>
    isRecord(answer)
      ? listTable<readonly [string, unknown]>(FIELD_COLUMNS, Object.entries(answer), { at: 0 })
      : answerTable(answer),
};

const FIELD_COLUMNS: readonly Column<readonly [string, unknown]>[] = [
  { title: 'FIELD', text: ([name]) => name },
  { title: 'VALUE', text: ([, value]) => cell(value) },
];

export const URL_GROUPS = listView<Row>(
  [
    { title: 'NAME', text: ({ name }) => cell(name), isWhole: true },
    { title: 'ENDPOINTS', text: (group) => String(recordsOf(group['endpoints']).length), align: 'right' },
    {
      title: 'URLS',
      text: (group) =>
        recordsOf(group['endpoints'])
          .map(({ url }) => cell(url))
          .join(' '),
      isWide: true,
    },
  ],
  { id: 'name', rows: recordsOf },
);

/** One group of the list, by the first operand. */
export const URL_GROUP: AnswerView = {
  ...listView<Row>(
    [
      { title: 'ENDPOINT', text: ({ name }) => (name === undefined || name === '' ? '–' : cell(name)), isWhole: true },
      { title: 'URL', text: ({ url }) => cell(url), isWhole: true },
    ],
    { id: 'url', rows: (group) => recordsOf(isRecord(group) ? group['endpoints'] : undefined) },
  ),
  select(answer, { positionals: [wanted = ''] }) {
    const groups = recordsOf(answer);
    const found = groups.find(({ name }) => name === wanted);
    if (found !== undefined) return found;
    const names = groups.map(({ name }) => String(name));
    const hint = printable(suggestion(wanted, names));
    throw new CommandError(`the account has no URL Group ${printable(wanted)}${hint}`);
  },
};

/** Statistics: a number as it is, and of a series its latest point, its maximum, and its length. */
export const STATISTICS: AnswerView = {
  formats: ['table', 'json', 'yaml'],
  text: (answer, _format, { io }) =>
    listTable(STATISTICS_COLUMNS, statisticsOf(isRecord(answer) ? answer : {}, io.clock.now()), { at: 0 }),
};

interface Statistic {
  readonly name: string;
  readonly latest: unknown;
  readonly at?: string;
  readonly max?: number;
  readonly points?: number;
}

const STATISTICS_COLUMNS: readonly Column<Statistic>[] = [
  { title: 'STATISTIC', text: ({ name }) => name },
  { title: 'LATEST', text: ({ latest }) => cell(latest), align: 'right' },
  { title: 'AT (UTC)', text: ({ at }) => at ?? '–' },
  { title: 'MAX', text: ({ max }) => (max === undefined ? '–' : cell(max)), align: 'right' },
  { title: 'POINTS', text: ({ points }) => (points === undefined ? '–' : String(points)), align: 'right' },
];

function statisticsOf(answer: Row, now: number): readonly Statistic[] {
  return Object.entries(answer).flatMap(([name, value]): Statistic[] => {
    if (typeof value === 'number') return [{ name, latest: value }];
    const rows = recordsOf(value);
    const series = rows.filter(({ data_points: points }) => Array.isArray(points));
    if (series.length > 0) {
      return series.map(({ id, data_points: points }) => seriesOf(`${name} ${cell(id)}`, recordsOf(points), now));
    }
    return rows.length === 0 ? [] : [seriesOf(name, rows, now)];
  });
}

/** Days of the current month that have not come yet have points as well. */
function seriesOf(name: string, points: readonly Row[], now: number): Statistic {
  const past = points.filter(({ x }) => !(timeOf(x) > now));
  const latest = past.at(-1);
  const values = past.map(({ y }) => y).filter((y) => typeof y === 'number');
  return {
    name,
    latest: latest?.['y'],
    ...(latest !== undefined && { at: cell(latest['x']).slice(0, 16) }),
    ...(values.length > 0 && { max: Math.max(...values) }),
    points: points.length,
  };
}

/** `2026-11-22 10:00:00.000000000 +0000 UTC`; NaN for any other form. */
function timeOf(text: unknown): number {
  const match = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)/.exec(String(text));
  return match === null ? Number.NaN : Date.parse(`${match[1]}T${match[2]}Z`);
}

function listView<T extends Row>(
  columns: readonly Column<T>[],
  { id, rows }: { readonly id: string; readonly rows: (answer: unknown) => readonly Row[] },
): AnswerView {
  return {
    formats: LIST_FORMATS,
    text(answer, format, { io }: Call) {
      const all = rows(answer) as readonly T[];
      if (all.length === 0 && format !== 'name') return 'The list is empty.\n';
      return rowsText(io, format, all, { columns, id: (row) => cell(row[id]), at: io.clock.now() });
    },
  };
}

function cell(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'number') return value.toLocaleString('en-US', { maximumFractionDigits: 4 });
  return typeof value === 'string' ? value : JSON.stringify(value);
}
