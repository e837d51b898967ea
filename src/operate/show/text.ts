/** Renders what people read as text for terminals and files. Markup that only a page has is left out. Pure. */
import { formatAge, formatElapsed, formatTime, machineTime } from '#foundation/domain/time-text.ts';
import {
  faint,
  Html,
  type Cell,
  type Facts,
  type Piece,
  type Table,
  type Tone,
  type ChartValues,
} from '#foundation/markup/cell.ts';
import { painter, printable, type Style, type TextStyle } from './terminal.ts';
import { listTable, textWidth } from './text-table.ts';

type Paint = (style: Style, text: string) => string;

/** Piece of a line, measured by its plain text and then painted. */
interface Run {
  readonly text: string;
  readonly style?: Style | undefined;
  /** Never broken, because it is copied. */
  readonly isWhole?: true;
}

const STYLES: Readonly<Partial<Record<Tone, Style>>> = {
  ok: 'green',
  attention: 'yellow',
  trouble: 'red',
  busy: 'cyan',
  ask: 'cyan',
};

/** Blocks of content below a title, separated by empty lines. Ends with a newline. */
export function sheetText(title: string, content: Cell, style: TextStyle): string {
  return [`${painter(style.color)('bold', printable(title))}\n`, ...blocksOf(content, style)].join('\n');
}

/** Each block ends with a newline. */
function blocksOf(content: Cell, style: TextStyle): string[] {
  if (Array.isArray(content)) return (content as readonly Cell[]).flatMap((one) => blocksOf(one, style));
  const paint = painter(style.color);
  if (typeof content === 'object' && 'piece' in content) {
    const { piece } = content;
    if (piece === 'section') {
      const [first = '\n', ...rest] = blocksOf(content.content, style);
      return [`${paint('bold', printable(content.title))}\n${first}`, ...rest];
    }
    if (piece === 'facts') return [factsText(content.rows, style)];
    if (piece === 'table') return [tableText(content, style)];
    if (piece === 'gantt') return [tableText(content.events, style)];
    if (piece === 'block') return [blockText(content.text)];
    if (piece === 'list') return [content.items.map((item) => `${painted(runsOf(item), paint)}\n`).join('')];
    if (piece === 'next') {
      const command = content.command === undefined ? '' : `  ${printable(content.command)}\n`;
      return [`Next: ${printable(content.text)}\n${command}`];
    }
  }
  const text = painted(runsOf(content), paint);
  return text === '' ? [] : [`${text}\n`];
}

function blockText(text: Cell): string {
  if (Array.isArray(text)) return (text as readonly Cell[]).map(blockText).join('');
  const lines = typeof text === 'string' ? text.split('\n') : [];
  return lines.map((line) => `  ${printable(line)}\n`).join('');
}

/** Narrowest column of the names. */
const INDENT = 10;
const LEAST_WIDTH = 40;

/** Facts, wrapped at the width of the terminal. Parts of `lines` are kept whole. */
export function factsText(facts: Facts['rows'], { color, width }: TextStyle): string {
  const paint = painter(color);
  const rows = Object.entries(facts).flatMap(([name, value]) => {
    const lines = linesOf(value).filter(({ units }) => units.length > 0);
    return lines.length === 0 ? [] : [{ name, lines }];
  });
  const indent = Math.max(INDENT, ...rows.map(({ name }) => name.length + 2));
  const room = Math.max(LEAST_WIDTH, width ?? Infinity);
  return rows
    .flatMap(({ name, lines }) =>
      lines
        .flatMap((line) => wrapped(line, room - indent, paint))
        .map((text, index) => `${(index === 0 ? name : '').padEnd(indent)}${text}`.trimEnd()),
    )
    .map((text) => `${text}\n`)
    .join('');
}

/** Units of a line are not broken. The gap between two of them is left out at the end of a line. */
interface Line {
  readonly units: readonly (readonly Run[])[];
  readonly gap: string;
}

function linesOf(value: Cell): Line[] {
  if (Array.isArray(value) && value.some((one: Cell) => isLines(one))) {
    return (value as readonly Cell[]).flatMap(linesOf);
  }
  if (!isLines(value)) return [wordsOf(runsOf(value))];
  const units = value.items.map((item) => runsOf(item)).filter((runs) => runs.length > 0);
  return value.gap === '\n' ? units.map((unit) => ({ units: [unit], gap: '' })) : [{ units, gap: value.gap }];
}

function isLines(value: Cell): value is Extract<Piece, { piece: 'lines' }> {
  return typeof value === 'object' && 'piece' in value && value.piece === 'lines';
}

/** Words, each with the space behind it. */
function wordsOf(runs: readonly Run[]): Line {
  const words: Run[][] = [];
  for (const run of runs) {
    for (const text of run.isWhole === true ? [run.text] : run.text.split(/(?<= )(?=[^ ])/)) {
      if (words.length === 0 || plain(words.at(-1)!).endsWith(' ')) words.push([]);
      words.at(-1)!.push({ ...run, text });
    }
  }
  return { units: words, gap: '' };
}

/** @param start column at which lines begin, except the first one */
function wrapped({ units, gap }: Line, room: number, paint: Paint, start = 0): string[] {
  const lines: Run[][] = [[]];
  let used = 0;
  for (const unit of units) {
    const text = plain(unit);
    if (used > start && used + gap.length + textWidth(text.trimEnd()) > room) {
      lines.push([]);
      used = start;
    } else if (used > start) {
      lines.at(-1)!.push({ text: gap });
      used += gap.length;
    }
    lines.at(-1)!.push(...unit);
    used += textWidth(text);
  }
  return lines.map((runs) => painted([...runs.slice(0, -1), ...trimmed(runs.slice(-1))], paint));
}

function trimmed(runs: readonly Run[]): Run[] {
  return runs.map((run) => ({ ...run, text: run.text.trimEnd() }));
}

/** Columns before the texts of labelled lines. */
const LABEL = 12;

/** Label of a line. Without a name, its space. */
export function label(name = ''): Cell {
  return faint(`  ${name}`.padEnd(LABEL));
}

/** Line that continues below itself, behind its label. Ends with a newline. */
export function lineText(content: Cell, { color, width = Infinity }: TextStyle, indent = LABEL): string {
  const lines = wrapped(wordsOf(runsOf(content)), width, painter(color), indent);
  return `${lines.join(`\n${' '.repeat(indent)}`)}\n`;
}

/** Line of at most `width` columns, cut at its end. */
export function cutLine(content: Cell, width: number, color: boolean): string {
  let room = Math.max(1, width);
  const shown: Run[] = [];
  for (const run of runsOf(content)) {
    const text = run.text.length <= room ? run.text : `${run.text.slice(0, room - 1)}…`;
    shown.push({ ...run, text });
    room -= text.length;
    if (text !== run.text || room === 0) break;
  }
  return painted(shown, painter(color));
}

/** Columns without any value are left out. */
function tableText({ columns, rows, empty }: Table, { color }: TextStyle): string {
  const paint = painter(color);
  if (rows.length === 0) return `${painted(runsOf(empty), paint)}\n`;
  const texts = rows.map(({ cells }) => cells.map((cell) => plain(runsOf(cell, 'exact'))));
  const shown = columns.map((column, index) => ({ ...column, index }));
  const table = listTable(
    shown
      .filter(({ index }) => texts.some((cells) => cells[index] !== ''))
      .map(({ title, align, index }) => ({
        title: title.toUpperCase(),
        text: (cells: readonly string[]) => cells[index]!,
        ...(align !== undefined && { align: 'right' as const }),
      })),
    texts,
    { at: 0 },
  );
  const lines = table.split('\n').map((text, index) => {
    const style = STYLES[toneOf(rows[index - 1]?.cells ?? []) ?? 'off'];
    return style === undefined ? text : paint(style, text);
  });
  return lines.join('\n');
}

/** Header and rows of the main columns, with the titles as they are, and short times. */
export function shortTable({ columns, rows }: Table): readonly (readonly string[])[] {
  return [
    columns.filter(isMain).map(({ title }) => title),
    ...rows.map(({ cells }) =>
      cells.filter((_cell, index) => isMain(columns[index]!)).map((cell) => plain(runsOf(cell, 'short'))),
    ),
  ];
}

function isMain({ minor }: Table['columns'][number]): boolean {
  return minor !== true;
}

/** Tone of the first state. */
function toneOf(cell: Cell): Tone | undefined {
  if (Array.isArray(cell)) return (cell as readonly Cell[]).map(toneOf).find((tone) => tone !== undefined);
  return typeof cell === 'object' && 'piece' in cell && cell.piece === 'state' ? cell.tone : undefined;
}

function plain(runs: readonly Run[]): string {
  return runs.map(({ text }) => text).join('');
}

function painted(runs: readonly Run[], paint: Paint): string {
  return runs.map(({ text, style }) => (style === undefined ? text : paint(style, text))).join('');
}

function runsOf(cell: Cell, times: Times = 'full'): Run[] {
  if (cell === undefined || cell === false || cell === '' || cell instanceof Html) return [];
  if (typeof cell === 'number') return [{ text: String(cell) }];
  if (typeof cell === 'string') return [{ text: printable(cell) }];
  if ('piece' in cell) return pieceRuns(cell, times);
  let all: Run[] = [];
  for (const one of cell) {
    const runs = runsOf(one, times);
    const isApart =
      all.length === 0 || runs.length === 0 || /\s$/.test(all.at(-1)!.text) || /^[\s,.;:]/.test(runs[0]!.text);
    all = [...all, ...(isApart ? [] : [{ text: ' ' }]), ...runs];
  }
  return all;
}

function pieceRuns(piece: Piece, times: Times): Run[] {
  switch (piece.piece) {
    case 'state':
      return [{ text: printable(piece.word), style: STYLES[piece.tone] }];
    case 'strong':
      return runsOf(piece.content, times).map(({ text }) => ({ text, style: 'bold' }));
    case 'sub':
      return [{ text: '(' }, ...runsOf(piece.content, times), { text: ')' }];
    case 'time':
      return [{ text: timeText(piece.at, times) }];
    case 'moment': {
      const age = formatAge(piece.at, piece.now);
      return [{ text: times === 'full' ? `${formatTime(piece.at)} (${age})` : age }];
    }
    case 'duration':
      return [{ text: formatElapsed(piece.ms) }];
    case 'id':
      return [{ text: printable(piece.id) }];
    case 'address':
      return [{ text: printable(piece.text) }];
    case 'code':
      return [{ text: printable(piece.text), style: 'cyan', isWhole: true }];
    case 'paragraph': {
      const runs = runsOf(piece.content, times);
      return piece.look === 'faint' ? runs.map((run) => ({ ...run, style: 'dim' as const })) : runs;
    }
    case 'whole':
    case 'link':
      return runsOf(piece.content, times);
    case 'lines':
      return piece.items.flatMap((item, index) => [...(index === 0 ? [] : [{ text: ', ' }]), ...runsOf(item, times)]);
    case 'spark':
      return [{ text: sparkline(piece.values) }];
    case 'figures':
      return runsOf(
        piece.rows
          .map((row) => row && `${row.name}: ${row.value}`)
          .filter(Boolean)
          .join(', '),
      );
    case 'block':
    case 'strip':
    case 'time-chart':
    case 'facts':
    case 'gantt':
    case 'list':
    case 'next':
    case 'section':
    case 'table':
      return [];
  }
}

/** `full`: the date and the age. `exact`: the date. `short`: the date without its year. */
type Times = 'full' | 'exact' | 'short';

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

function timeText(at: number, times: Times): string {
  const machine = machineTime(at);
  if (times === 'full' || machine === undefined) return formatTime(at);
  if (times === 'exact') return machine;
  // `18 Nov 10:02:11Z`
  const date = new Date(at);
  return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]} ${machine.slice(11, 19)}Z`;
}

const BARS = '▁▂▃▄▅▆▇█';

/** One bar for each value; one that is zero or unknown is a space. */
function sparkline(values: ChartValues): string {
  const most = Math.max(1, ...values.map(Number));
  return values.map((value) => (value ? BARS[Math.ceil((value / most) * BARS.length) - 1]! : ' ')).join('');
}
