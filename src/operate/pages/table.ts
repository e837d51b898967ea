/**
 * Table for screen readers, wide screens and phones. On narrow screens the style sheet turns rows into cards, which
 * would hide the table's structure from assistive technology. So each part also has its role.
 */
import { html, type Html, type HtmlValue } from './html.ts';
import { clipped } from './page-parts.ts';

interface Column<Row> {
  readonly title: string;
  /** `undefined` and `false` are shown as a dash, and hidden on narrow screens. */
  readonly cell: (row: Row) => HtmlValue;
  readonly align?: 'number';
  /** Long text that may break anywhere. */
  readonly wide?: true;
  /** Hidden on narrow screens. */
  readonly minor?: true;
}

export interface TableOptions<Row> {
  readonly caption: HtmlValue;
  /** Columns. The first one names the row. */
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowId?: (row: Row) => string;
  /** Text for an empty table: its future content. */
  readonly empty: HtmlValue;
}

export function table<Row>(options: TableOptions<Row>): Html {
  if (options.rows.length === 0) return html`<p class="empty">${options.empty}</p>`;
  return html`<table role="table">
    <caption>
      ${options.caption}
    </caption>
    <thead role="rowgroup">
      <tr role="row">
        ${options.columns.map(
          (column) => html`<th role="columnheader" scope="col" class="${classOf(column)}">${column.title}</th>`,
        )}
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${options.rows.map((row) => renderRow(options, row))}
    </tbody>
  </table>`;
}

function renderRow<Row>(options: TableOptions<Row>, row: Row): Html {
  const cells = options.columns.map((column, index) => {
    const cell = column.cell(row);
    const value: HtmlValue = Array.isArray(cell)
      ? (cell as readonly HtmlValue[]).map((one) => clipped(one))
      : clipped(cell);
    if (index === 0) return html`<th role="rowheader" scope="row" class="${classOf(column)}">${value}</th>`;
    const missing = value === undefined || value === false;
    const names = [classOf(column), missing && 'none'].filter(Boolean).join(' ');
    return html`<td role="cell" class="${names}" data-label="${column.title}"><div>${missing ? '–' : value}</div></td>`;
  });
  const id = options.rowId?.(row);
  return id === undefined
    ? html`<tr role="row">
        ${cells}
      </tr>`
    : html`<tr role="row" id="${id}">
        ${cells}
      </tr>`;
}

function classOf<Row>(column: Column<Row>): string {
  return [column.align, column.wide && 'wide', column.minor && 'minor'].filter(Boolean).join(' ');
}
