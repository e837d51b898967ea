/**
 * HTML without injection: every value in an `html` template is redacted and escaped, unless it is the result of another
 * template. Safe in text and in quoted attributes. Never put a value into a tag name, a style or a script.
 */
import { formatCount } from '../domain/counted.ts';
import { redact, redactKept, startOf } from '../domain/redact.ts';
import { formatAge, formatElapsed, formatTime, machineTime } from '../domain/time-text.ts';
import { ownText } from '../platform/memo.ts';
import { sparkHtml, stripHtml, timeChartHtml } from './chart.ts';
import { ganttHtml } from './gantt.ts';
import { constantMarkup, filled, renderPlain } from './markup.ts';
import {
  Html,
  timePiece,
  type Cell,
  type ColumnHead,
  type Facts,
  type Figures,
  type Piece,
  type Section,
  type Table,
} from './cell.ts';

export function html(parts: TemplateStringsArray, ...values: readonly Cell[]): Html {
  return filled(parts, values, render);
}

/** Returns the redacted text, cut to `most` characters. The rest of a long text costs nothing. */
function cutText(text: string, most: number): string {
  return text.length <= most ? text : `${redactKept(startOf(text, most), ownText).slice(0, most)}…`;
}

const LONG = 500;

/** Text whose end is left out if it is long: its page shows the whole text. Other values stay as they are. */
export function clipped(text: string): string;
export function clipped(value: Cell): Cell;
export function clipped(value: Cell): Cell {
  return typeof value === 'string' ? cutText(value, LONG) : value;
}

/** Long text with its end folded, so that one value does not fill the screen. Other values stay as they are. */
export function long(value: Cell): Cell {
  if (typeof value !== 'string' || value.length <= LONG) return value;
  return [
    clipped(value),
    html`<details class="long">
      <summary>all ${formatCount(value.length)} characters</summary>
      ${value}
    </details>`,
  ];
}

function longEach(value: Cell): Cell {
  return Array.isArray(value) ? value.map(long) : long(value);
}

function render(value: Cell): string {
  if (typeof value !== 'object' || value instanceof Html) return renderPlain(value);
  return 'piece' in value ? pieceHtml(value).toString() : value.map(render).join('');
}

function pieceHtml(value: Piece): Html {
  switch (value.piece) {
    case 'state':
      return html`<span class="state ${value.tone}">${clipped(value.word)}</span>`;
    case 'sub':
      return html` <span class="sub">${clipped(value.content)}</span>`;
    case 'time': {
      const machine = machineTime(value.at);
      const text = formatTime(value.at);
      return machine === undefined ? html`${text}` : html`<time datetime="${machine}">${text}</time>`;
    }
    case 'moment': {
      const { at, now } = value;
      const [age, machine] = [formatAge(at, now), machineTime(at)];
      return machine === undefined
        ? html`${age}`
        : html`<time class="nowrap" datetime="${machine}" data-age title="${formatTime(at)}">${age}</time>`;
    }
    case 'duration':
      return html`<span class="nowrap">${formatElapsed(value.ms)}</span>`;
    case 'id':
      return value.path === undefined
        ? html`<span class="id">${clipped(value.id)}</span>`
        : html`<a href="${value.path}" class="id">${clipped(value.id)}</a>`;
    case 'whole':
      return html`<span class="nowrap">${value.content}</span>`;
    case 'strong':
      return html`<strong>${clipped(value.content)}</strong>`;
    case 'lines':
      return html`${value.items.map((item) => html`<div>${longEach(item)}</div>`)}`;
    case 'paragraph':
      return value.look === undefined
        ? html`<p>${longEach(value.content)}</p>`
        : html`<p class="${value.look}">${longEach(value.content)}</p>`;
    case 'link':
      return html`<a href="${value.path}">${clipped(value.content)}</a>`;
    case 'next': {
      const command = value.command !== undefined && html`<code>${value.command}</code>`;
      return html`<p class="notice info"><strong>Next step:</strong> ${withTimes(value.text)} ${command}</p>`;
    }
    case 'address':
      return addressHtml(value.text);
    case 'code':
      return html`<code>${value.text}</code>`;
    case 'spark':
      return sparkHtml(value);
    case 'strip':
      return stripHtml(value);
    case 'gantt':
      return html`${ganttHtml(value)}
        <details class="more">
          <summary>Events as a table</summary>
          ${value.events}
        </details>`;
    case 'time-chart':
      return timeChartHtml(value);
    case 'block':
      return html`<pre tabindex="0">${value.text}</pre>`;
    case 'list': {
      const items = value.items.map((item) => html`<li>${longEach(item)}</li>`);
      return value.isFaint
        ? html`<ul class="faint">
            ${items}
          </ul>`
        : html`<ul>
            ${items}
          </ul>`;
    }
    case 'figures':
      return figuresHtml(value);
    case 'facts':
      return factsHtml(value);
    case 'table':
      return tableHtml(value);
    case 'section':
      return sectionHtml(value);
  }
}

/** Redacted as a whole: a secret may have slashes. */
function addressHtml(text: string): Html {
  const parts = clipped(redact(text)).split(/(?<=\/)(?!\/)/);
  return html`${parts.map((part, index) => (index === 0 ? part : html`<wbr />${part}`))}`;
}

/** Text with its times as elements, which the script shows as local times. */
function withTimes(text: string): Cell {
  const parts = redact(text).split(/(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?Z)/);
  return parts.map((part, index) => (index % 2 === 1 ? timePiece(Date.parse(part)) : part));
}

/** Message with its times, and its commands between backticks as code. */
export function message(text: string): Cell {
  // Redacted as a whole: a secret may contain a backtick.
  const parts = redact(text).split('`');
  const isPaired = parts.length % 2 === 1;
  return isPaired
    ? parts.map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : withTimes(part)))
    : withTimes(text);
}

function figuresHtml({ rows }: Figures): Html {
  const shown = rows.map(
    (row) =>
      row &&
      html`<div>
        <dt>${row.path === undefined ? row.name : html`<a href="${row.path}">${row.name}</a>`}</dt>
        <dd>${row.value}${row.spark} ${row.note !== undefined && html`<span class="sub">${row.note}</span>`}</dd>
      </div>`,
  );
  return html`<dl class="figures">${shown}</dl>`;
}

function factsHtml({ rows }: Facts): Html {
  return html`<dl class="facts">
    ${Object.entries(rows).map(
      ([name, value]) =>
        value !== undefined &&
        value !== false &&
        html`<div>
          <dt>${name}</dt>
          <dd>${longEach(value)}</dd>
        </div>`,
    )}
  </dl>`;
}

function sectionHtml({ id, title, content, heading }: Section): Html {
  return html`<section aria-labelledby="${id}">
    ${heading === 'h2' ? html`<h2 id="${id}">${title}</h2>` : html`<h3 id="${id}">${title}</h3>`} ${content}
  </section>`;
}

/**
 * Table for screen readers, wide screens and phones. On narrow screens the style sheet turns rows into cards, which
 * would hide the table's structure from assistive technology. So each part also has its role.
 */
function tableHtml({ caption, columns, rows, empty }: Table): Html {
  if (rows.length === 0) return html`<p class="empty">${empty}</p>`;
  const heads = columns.map(headOf);
  return html`<table role="table">
    <caption>
      ${caption}
    </caption>
    <thead role="rowgroup">
      <tr role="row">
        ${heads.map(({ title, names }) => html`<th role="columnheader" scope="col" class="${names}">${title}</th>`)}
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${rows.map((row) => rowHtml(heads, row))}
    </tbody>
  </table>`;
}

/** Markup of a column that each of its cells repeats. */
interface HeadHtml {
  readonly title: Html;
  /** Classes of a cell, and of one without a value. */
  readonly names: Html;
  readonly namesOfNone: Html;
}

function headOf({ title, align, wide, minor }: ColumnHead): HeadHtml {
  const names = [align, wide && 'wide', minor && 'minor'].filter(Boolean);
  // Names of fields stay as they are.
  const shown = /[A-Z]/.test(title) ? title : title.slice(0, 1).toUpperCase() + title.slice(1);
  return {
    title: html`${shown}`,
    names: constantMarkup(names.join(' ')),
    namesOfNone: constantMarkup([...names, 'none'].join(' ')),
  };
}

function rowHtml(heads: readonly HeadHtml[], { id, cells: given }: Table['rows'][number]): Html {
  const cells = given.map((cell, index) => {
    const { title, names, namesOfNone } = heads[index]!;
    const value: Cell = Array.isArray(cell) ? (cell as readonly Cell[]).map((one) => clipped(one)) : clipped(cell);
    if (index === 0) return html`<th role="rowheader" scope="row" class="${names}">${value}</th>`;
    if (value !== undefined && value !== false)
      return html`<td role="cell" class="${names}" data-label="${title}"><div>${value}</div></td>`;
    return html`<td role="cell" class="${namesOfNone}" data-label="${title}"><div>–</div></td>`;
  });
  return id === undefined
    ? html`<tr role="row">
        ${cells}
      </tr>`
    : html`<tr role="row" id="${id}">
        ${cells}
      </tr>`;
}
