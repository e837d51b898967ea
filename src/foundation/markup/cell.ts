/**
 * Vocabulary of everything that a reader sees, as data: texts, pieces with a meaning, tables, facts and sections. A page
 * renders it as HTML, a command as text. Pure.
 */

/** `busy`: a repair is in progress. `ask`: someone is asked for a decision. `watch`: it only reports. */
export type Tone = 'ok' | 'attention' | 'trouble' | 'off' | 'busy' | 'ask' | 'watch';

/** Markup that only a page has, such as a form. Commands leave it out. */
export class Html {
  readonly #markup: string;

  constructor(markup: string) {
    this.#markup = markup;
  }

  toString(): string {
    return this.#markup;
  }
}

/** Content of one place. Lists are joined without a separator; `undefined` and `false` add nothing. */
export type Cell = Html | Piece | string | number | undefined | false | readonly Cell[];

export type Piece =
  | { readonly piece: 'state'; readonly tone: Tone; readonly word: string }
  | { readonly piece: 'time'; readonly at: number }
  | { readonly piece: 'moment'; readonly at: number; readonly now: number }
  | { readonly piece: 'duration'; readonly ms: number }
  | { readonly piece: 'id'; readonly id: string; readonly path?: string | undefined }
  | { readonly piece: 'sub' | 'whole' | 'strong'; readonly content: Cell }
  | { readonly piece: 'lines'; readonly items: readonly Cell[]; readonly gap: string }
  | { readonly piece: 'paragraph'; readonly content: Cell; readonly look?: string }
  | { readonly piece: 'link'; readonly path: string; readonly content: Cell }
  | { readonly piece: 'next'; readonly text: string; readonly command?: string | undefined }
  | { readonly piece: 'code' | 'address'; readonly text: string }
  | { readonly piece: 'block'; readonly text: Cell }
  | { readonly piece: 'list'; readonly items: readonly Cell[]; readonly isFaint: boolean }
  | Spark
  | Strip
  | TimeChart
  | Gantt
  | Figures
  | Facts
  | Table
  | Section;

/** Color of a part of a chart. */
export type Look = 'ok' | 'attention' | 'trouble' | 'busy' | 'faint';

/** Values at equal distances; null: unknown. */
export type ChartValues = readonly (number | null)[];

/** Small chart in a line of text or in a cell. */
export interface Spark {
  readonly piece: 'spark';
  readonly shape: 'bars' | 'line';
  readonly look: Look;
  readonly values: ChartValues;
  /** Content for screen readers, such as `highest 12 of 30 waiting`. */
  readonly about: string;
}

/** Row of events, oldest first, such as the runs of a policy. */
export interface Strip {
  readonly piece: 'strip';
  readonly items: readonly { readonly look: Look; readonly text: string; readonly height: number }[];
  /** Height of the highest item, at least. */
  readonly highest: number;
  readonly about: string;
}

/** Chart over time with axes, and its values as a table. */
export interface TimeChart {
  readonly piece: 'time-chart';
  readonly title: string;
  /** Start of the first value, and the distance of the values, in milliseconds. */
  readonly from: number;
  readonly stepMs: number;
  /** From the bottom to the top if they are stacked. */
  readonly series: readonly Series[];
  readonly isStacked?: boolean;
  readonly format: (value: number) => string;
  readonly limit?: { readonly name: string; readonly value: number } | undefined;
  readonly marks?: readonly Mark[];
  /** Periods with another background, such as weekends. */
  readonly shades?: readonly { readonly from: number; readonly to: number }[];
  readonly isLow?: boolean;
}

/** Bars over one time scale, for pages; commands have the table of the events. */
export interface Gantt {
  readonly piece: 'gantt';
  readonly title: string;
  readonly rows: readonly GanttRow[];
  readonly events: Table;
}

export interface GanttRow {
  readonly name: string;
  readonly bars: readonly GanttBar[];
  readonly marks?: readonly { readonly at: number; readonly look: Look; readonly text: string }[];
}

/** `faint`: a wait. */
export interface GanttBar {
  readonly from: number;
  readonly to: number;
  readonly look: Look;
  readonly text: string;
}

export interface Series {
  readonly name: string;
  readonly look: Look;
  readonly shape: 'area' | 'line' | 'bars' | 'band';
  readonly values: ChartValues;
  /** Lower edge of a band. */
  readonly low?: ChartValues;
}

/** Event at a time of a chart. */
export interface Mark {
  readonly at: number;
  readonly look: Look;
  readonly text: string;
  readonly path?: string | undefined;
}

/** Large numbers, each with its name and a note. */
export interface Figures {
  readonly piece: 'figures';
  readonly rows: readonly (Figure | false | undefined)[];
}

interface Figure {
  readonly name: string;
  readonly value: string | number;
  readonly note?: Cell;
  readonly spark?: Spark | undefined;
  /** Page with more. */
  readonly path?: string;
}

export interface Facts {
  readonly piece: 'facts';
  /** Values by name. `undefined` and `false` omit the fact. */
  readonly rows: Readonly<Record<string, Cell>>;
}

export interface Section {
  readonly piece: 'section';
  readonly id: string;
  readonly title: string;
  readonly content: Cell;
  readonly heading: Heading;
}

export type Heading = 'h2' | 'h3';

export interface Table {
  readonly piece: 'table';
  readonly caption: Cell;
  /** The first one names the row. */
  readonly columns: readonly ColumnHead[];
  readonly rows: readonly { readonly id?: string | undefined; readonly cells: readonly Cell[] }[];
  /** Text for an empty table: its future content. */
  readonly empty: Cell;
}

export interface ColumnHead {
  readonly title: string;
  readonly align?: 'number';
  /** Long text that may break anywhere. */
  readonly wide?: true;
  /** Hidden on narrow screens. */
  readonly minor?: true;
}

/** Content of a column. `undefined` and `false` are shown as a dash, and hidden on narrow screens. */
type CellOf<Row> = (row: Row) => Cell;
type Column<Row> = CellOf<Row> | FormattedColumn<Row>;

interface FormattedColumn<Row> extends Omit<ColumnHead, 'title'> {
  readonly cell: CellOf<Row>;
}

export interface TableOptions<Row> extends Pick<Table, 'caption' | 'empty'> {
  /** Columns by title. */
  readonly columns: Readonly<Record<string, Column<Row>>>;
  readonly rows: readonly Row[];
  readonly rowId?: (row: Row) => string;
}

export function table<Row>({ caption, empty, columns: named, rows, rowId }: TableOptions<Row>): Table {
  const columns = Object.entries(named).map(([title, column]) => ({ title, ...formatted(column) }));
  const cells = rows.map((row) => ({ id: rowId?.(row), cells: columns.map((column) => column.cell(row)) }));
  return { piece: 'table', caption, empty, columns, rows: cells };
}

function formatted<Row>(column: Column<Row>): FormattedColumn<Row> {
  return typeof column === 'function' ? { cell: column } : column;
}

export function wide<Row>(column: Column<Row>): FormattedColumn<Row> {
  return { ...formatted(column), wide: true };
}

export function numberColumn<Row>(column: Column<Row>): FormattedColumn<Row> {
  return { ...formatted(column), align: 'number' };
}

export function minor<Row>(column: Column<Row>): FormattedColumn<Row> {
  return { ...formatted(column), minor: true };
}

export function facts(rows: Facts['rows']): Facts {
  return { piece: 'facts', rows };
}

export function figures(rows: Figures['rows']): Figures {
  return { piece: 'figures', rows };
}

export function section(id: string, title: string, content: Cell, heading: Heading = 'h2'): Section {
  return { piece: 'section', id, title, content, heading };
}

/** State in a color, which only repeats the word. */
export function state(tone: Tone, word: string): Piece {
  return { piece: 'state', tone, word };
}

/** Remark about the text before it. */
export function sub(content: Cell): Piece | undefined {
  return content === undefined || content === '' || content === false ? undefined : { piece: 'sub', content };
}

export function timePiece(at: number): Piece {
  return { piece: 'time', at };
}

/** Relative time, with the time itself. */
export function moment(at: number | undefined, now: number): Piece | undefined {
  return at === undefined ? undefined : { piece: 'moment', at, now };
}

export function duration(ms: number | undefined): Piece | undefined {
  return ms === undefined ? undefined : { piece: 'duration', ms };
}

export function idText(id: string): Piece {
  return { piece: 'id', id };
}

/** URL or place, which a page breaks only behind its slashes. */
export function address(text: string): Piece {
  return { piece: 'address', text };
}

/** Identifier, which is a link on a page. */
export function idLink(path: string, id: string): Piece {
  return { piece: 'id', id, path };
}

/** Text that is a link on a page. */
export function link(path: string, content: Cell): Piece {
  return { piece: 'link', path, content };
}

/** Text that is not wrapped. */
export function whole(content: Cell): Piece {
  return { piece: 'whole', content };
}

export function strong(content: Cell): Piece {
  return { piece: 'strong', content };
}

/**
 * Several values: lines of a page, and parts of a line of text that are not broken.
 *
 * @param gap text between two parts that are on one line; a line break puts each on its own line
 */
export function lines(items: readonly Cell[], gap = '   '): Piece | undefined {
  const shown = items.filter((item) => item !== undefined && item !== false);
  return shown.length === 0 ? undefined : { piece: 'lines', items: shown, gap };
}

export function paragraph(...content: readonly Cell[]): Piece {
  return { piece: 'paragraph', content };
}

/** Paragraph that is less important than the others. */
export function faint(...content: readonly Cell[]): Piece {
  return { piece: 'paragraph', content, look: 'faint' };
}

/** Paragraph in place of a table: its future content. */
export function empty(...content: readonly Cell[]): Piece {
  return { piece: 'paragraph', content, look: 'empty' };
}

/** Paragraph in a frame. */
export function notice(tone: Tone | 'info', ...content: readonly Cell[]): Piece {
  return { piece: 'paragraph', content, look: `notice ${tone}` };
}

/** Next step of the reader, with the command for it. */
export function nextStep(text: string, command: string | undefined): Piece {
  return { piece: 'next', text, command };
}

/** Sentences or events. */
export function list(items: readonly Cell[], isFaint = false): Piece | undefined {
  return items.length === 0 ? undefined : { piece: 'list', items, isFaint };
}

/** Command to copy. */
export function code(text: string): Piece {
  return { piece: 'code', text };
}

/** Text of a service that keeps its lines. */
export function blockText(text: Cell): Piece {
  return { piece: 'block', text };
}

/** @returns undefined without a value above 0 */
export function bars(values: ChartValues, about: string, look: Look = 'busy'): Spark | undefined {
  return values.some((value) => value !== null && value > 0)
    ? { piece: 'spark', shape: 'bars', look, values, about }
    : undefined;
}

/** @returns undefined without two known values */
export function trend(values: ChartValues, about: string, look: Look = 'busy'): Spark | undefined {
  const first = values.findIndex((value) => value !== null);
  const since = values.slice(Math.max(0, first));
  return since.filter((value) => value !== null).length < 2
    ? undefined
    : { piece: 'spark', shape: 'line', look, values: since, about };
}

export function timeChart(chart: Omit<TimeChart, 'piece'>): TimeChart {
  return { piece: 'time-chart', ...chart };
}
