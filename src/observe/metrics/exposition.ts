/**
 * Builds the body of a scrape. Only chunks that changed since their last rendering are rendered again. Rendering yields
 * to the event loop after each slice. All values are those at the start of the rendering. Scrapers that arrive during
 * it share the result.
 */
import { nextTurn } from '#foundation/platform/next-turn.ts';
import { chunkText, CONTENT_TYPES, END, headerText, heldText } from './exposition-text.ts';
import { gzipParts } from './gzip-parts.ts';
import type { Chunk, Format, SeriesTable } from './series.ts';

/** Number of series rendered without yielding to the event loop: about a millisecond. */
const SLICE_SERIES = 4_096;

/** Parts smaller than this are merged, so that a small body is one piece. */
const PIECE_BYTES = 16_384;
const TOGETHER_BYTES = 262_144;

/** Response to a scrape. Its parts may be shared and must not be modified. */
export interface ScrapeBody {
  readonly contentType: string;
  readonly parts: readonly Uint8Array[];
  /** Returns the body gzipped, off the event loop. It is compressed once for all who share it. */
  gzip(): Promise<readonly Uint8Array[]>;
}

export interface ExpositionDeps {
  readonly tables: readonly SeriesTable[];
  /** Updates the tables synchronously before the rendering. */
  refresh(): void;
  /** Returns the number of counters that are currently exported as 0. */
  heldCounters(): number;
  /** Returns the text of metrics that are in no table. It follows the tables. */
  textBehind(format: Format): Promise<string>;
}

export function createExposition({ tables, ...deps }: ExpositionDeps) {
  const underWay = new Map<Format, Promise<ScrapeBody>>();
  /** Last rendering. Renderings run one after another, because a chunk has only one claim. */
  let last: Promise<unknown> = Promise.resolve();

  async function render(format: Format, before: Promise<unknown>): Promise<ScrapeBody> {
    // Requests of the same turn share the rendering.
    await nextTurn();
    await before;
    const behind = Buffer.from(await deps.textBehind(format));
    deps.refresh();
    const note = Buffer.from(heldText(deps.heldCounters(), format));
    const parts = [note, ...(await renderParts(tables, format)), behind];
    // After this, the body is older than its snapshot for a new request.
    underWay.delete(format);
    return body(parts, format);
  }

  return {
    render(format: Format): Promise<ScrapeBody> {
      const shared = underWay.get(format);
      if (shared !== undefined) return shared;
      const made = render(format, last);
      underWay.set(format, made);
      last = made.catch(() => underWay.delete(format));
      return made;
    },
  };
}

/** Renders all parts. All chunks are claimed in one turn, which is the moment of the snapshot. */
async function renderParts(tables: readonly SeriesTable[], format: Format): Promise<Buffer[]> {
  const parts: Buffer[] = [];
  const claimed: { readonly chunk: Chunk; readonly series: number }[] = [];
  for (const table of tables) {
    parts.push((table.headers[format] ??= Buffer.from(headerText(table, format))));
    for (const chunk of table.chunks) {
      const kept = chunk.rendered[format];
      if (kept !== undefined) {
        parts.push(kept);
        continue;
      }
      const at = parts.length;
      parts.push(EMPTY);
      chunk.claim = () => {
        chunk.claim = undefined;
        parts[at] = renderChunk(table, chunk, format);
      };
      claimed.push({ chunk, series: chunk.children.size * table.seriesOfChild });
    }
  }
  let rendered = 0;
  for (const { chunk, series } of claimed) {
    if (chunk.claim === undefined) continue;
    if (rendered >= SLICE_SERIES) {
      await nextTurn();
      rendered = 0;
    }
    rendered += series;
    chunk.claim?.();
  }
  return parts;
}

const EMPTY = Buffer.alloc(0);

function renderChunk(table: SeriesTable, chunk: Chunk, format: Format): Buffer {
  const { rendered } = chunk;
  // A gauge has the same text in every format.
  const other = table.spec.type === 'gauge' ? (rendered.text ?? rendered.openmetrics ?? rendered.current) : undefined;
  return (rendered[format] = other ?? Buffer.from(chunkText(table, chunk, format)));
}

function body(rendered: readonly Buffer[], format: Format): ScrapeBody {
  const parts = pieces(END[format] === '' ? rendered : [...rendered, Buffer.from(END[format])]);
  let packed: Promise<readonly Uint8Array[]> | undefined;
  return { contentType: CONTENT_TYPES[format], parts, gzip: () => (packed ??= gzipParts(parts)) };
}

function pieces(parts: readonly Buffer[]): Buffer[] {
  const whole: Buffer[] = [];
  let small: Buffer[] = [];
  let bytes = 0;
  const flush = (): void => {
    if (small.length > 0) whole.push(small.length === 1 ? small[0]! : Buffer.concat(small, bytes));
    small = [];
    bytes = 0;
  };
  for (const part of parts) {
    if (part.length >= PIECE_BYTES) {
      flush();
      whole.push(part);
      continue;
    }
    if (bytes + part.length > TOGETHER_BYTES) flush();
    small.push(part);
    bytes += part.length;
  }
  flush();
  return whole;
}
