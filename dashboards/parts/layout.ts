/** Layout of panels: rows of lines, whose panels share the 24 columns and one height. */
import type { Panel, RowPanel } from '@grafana/grafana-foundation-sdk/dashboard';
import { RowBuilder } from '@grafana/grafana-foundation-sdk/dashboard';
import type { Placed } from './panels.ts';

const COLUMNS = 24;

export interface Row {
  readonly title: string;
  readonly lines: readonly (readonly Placed[])[];
}

/** Returns a row with a title and its panels line by line. */
export function row(title: string, ...lines: readonly (readonly Placed[])[]): Row {
  return { title, lines };
}

export function laidOut(rows: readonly Row[]): (Panel | RowPanel)[] {
  const panels: (Panel | RowPanel)[] = [];
  const ids = new Set<number>();
  let y = 0;
  for (const { title, lines } of rows) {
    const gridPos = { x: 0, y, w: COLUMNS, h: 1 };
    panels.push(
      new RowBuilder(title)
        .id(idOf(`row ${title}`, ids))
        .gridPos(gridPos)
        .build(),
    );
    y += 1;
    for (const line of lines) {
      const height = Math.max(...line.map((placed) => placed.height));
      const widths = widthsOf(line);
      let x = 0;
      for (const [index, { panel }] of line.entries()) {
        const w = widths[index]!;
        panels.push({ ...panel, id: idOf(panel.title ?? '', ids), gridPos: { x, y, w, h: height } });
        x += w;
      }
      y += height;
    }
  }
  return panels;
}

/** Returns widths that fill the line: requested widths, and the rest in equal parts. */
function widthsOf(line: readonly Placed[]): number[] {
  const asked = line.reduce((sum, { width = 0 }) => sum + width, 0);
  const open = line.filter(({ width }) => width === undefined).length;
  const rest = COLUMNS - asked;
  if (rest < open || (open === 0 && rest !== 0)) {
    const titles = line.map(({ panel }) => panel.title).join(', ');
    throw new Error(
      `the panels ${titles} need ${asked} columns plus ${open} panels without a width, but the line has ${COLUMNS}`,
    );
  }
  let given = 0;
  return line.map(({ width }) => {
    if (width !== undefined) return width;
    given += 1;
    // The first panels get the remainder.
    return Math.floor(rest / open) + (given <= rest % open ? 1 : 0);
  });
}

/** Returns an id that depends only on the title, so that a panel keeps its address when other panels change. */
function idOf(title: string, taken: Set<number>): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(title)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  const id = 1 + (hash % 999_999);
  if (taken.has(id)) throw new Error(`two panels share an id: give "${title}" another title`);
  taken.add(id);
  return id;
}
