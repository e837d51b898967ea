/** Renders series as text, line by line: Prometheus 0.0.4 and OpenMetrics 1.0. */
import type { Child, Chunk, Format, SeriesTable, ShownExemplar } from './series.ts';

export const CONTENT_TYPES: Readonly<Record<Format, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
  current: 'text/plain; version=0.0.4; charset=utf-8',
};

export const END: Readonly<Record<Format, string>> = { text: '', openmetrics: '# EOF\n', current: '' };

const TO_ESCAPE = /[\\"\n]/;

/** Returns `name="value"`, escaped. */
export function labelText(name: string, value: string): string {
  return `${name}="${TO_ESCAPE.test(value) ? escapeText(value).replaceAll('"', String.raw`\"`) : value}"`;
}

/** Parses the labels from a text that `labelText` wrote. */
export function parseLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const [, name, value] of text.matchAll(/(?<!\w)(\w+)="((?:[^"\\]|\\.)*)"/g)) {
    labels[name!] = value!.replaceAll(/\\(.)/g, (_escape, char: string) => (char === 'n' ? '\n' : char));
  }
  return labels;
}

function escapeText(text: string): string {
  return text.replaceAll('\\', String.raw`\\`).replaceAll('\n', String.raw`\n`);
}

/** Returns a comment for readers; OpenMetrics allows none. */
export function heldText(counters: number, format: Format): string {
  if (counters === 0 || format === 'openmetrics') return '';
  const setting = 'telemetry.metrics.newSeriesZeroFor';
  if (format === 'current')
    return `# ${counters} new counters have their value here and are 0 for scrapers: ${setting}\n`;
  return `# ${counters} new counters are 0 for a fixed time, then have their value: ${setting}\n`;
}

/** Returns the header lines above the series of a metric. */
export function headerText({ name, spec }: SeriesTable, format: Format): string {
  if (format !== 'openmetrics') return `# HELP ${name} ${escapeText(spec.help)}\n# TYPE ${name} ${spec.type}\n`;
  const family = familyName(name);
  const help = escapeText(spec.help).replaceAll('"', String.raw`\"`);
  const unit = unitOf(family);
  const unitLine = unit === undefined ? '' : `# UNIT ${family} ${unit}\n`;
  return `# HELP ${family} ${help}\n# TYPE ${family} ${spec.type}\n${unitLine}`;
}

/** Returns the family name. OpenMetrics omits the suffix of a counter's samples. */
function familyName(name: string): string {
  return name.replace(/_total$/, '');
}

/** Returns the unit, which OpenMetrics allows only if the family's name ends with it. */
function unitOf(family: string): string | undefined {
  return /_(seconds|bytes|ratio|dollars)$/.exec(family)?.[1];
}

export function chunkText(table: SeriesTable, chunk: Chunk, format: Format): string {
  const { type } = table.spec;
  if (type === 'histogram') return histogramText(table, chunk, format);
  const { name } = table;
  let text = '';
  if (type === 'gauge' || format !== 'openmetrics') {
    // String addition: a template would build each line separately first.
    for (const child of chunk.children)
      text = text + name + braces(child.labels) + ' ' + numberText(shown(child, format)) + '\n';
    return text;
  }
  const createdName = `${familyName(name)}_created`;
  for (const child of chunk.children) {
    const labels = braces(child.labels);
    text += `${name}${labels} ${numberText(shown(child, format))}\n`;
    if (child.created !== undefined) text += `${createdName}${labels} ${child.created}\n`;
  }
  return text;
}

function histogramText({ name, spec }: SeriesTable, chunk: Chunk, format: Format): string {
  let text = '';
  const starts = [...spec.buckets!.map(numberText), '+Inf'].map((bound) => `${name}_bucket{le="${bound}"`);
  for (const child of chunk.children) {
    let count = 0;
    const rest = child.labels === '' ? '} ' : `,${child.labels}} `;
    const isZero = readsZero(child, format);
    const exemplars = format === 'openmetrics' && !isZero ? child.exemplars : undefined;
    for (let index = 0; index < starts.length; index++) {
      if (!isZero) count += child.buckets![index]!;
      text += `${starts[index]!}${rest}${count}${exemplars === undefined ? '' : exemplarText(exemplars[index])}\n`;
    }
    const labels = braces(child.labels);
    text += `${name}_sum${labels} ${numberText(shown(child, format))}\n${name}_count${labels} ${count}\n`;
    if (format === 'openmetrics' && child.created !== undefined) text += `${name}_created${labels} ${child.created}\n`;
  }
  return text;
}

/** Returns the text of an exemplar. Its ids are hex digits and need no escaping. */
function exemplarText(exemplar: ShownExemplar | undefined): string {
  if (exemplar === undefined) return '';
  const { traceId, spanId, value, at } = exemplar;
  return ` # {trace_id="${traceId}",span_id="${spanId}"} ${numberText(value)} ${at / 1_000}`;
}

/** Returns the exported value: a new counter is 0 for scrapers for a while. */
function shown(child: Child, format: Format): number {
  return readsZero(child, format) ? 0 : child.value;
}

function readsZero(child: Child, format: Format): boolean {
  return child.held && format !== 'current';
}

function braces(labels: string): string {
  return labels === '' ? '' : `{${labels}}`;
}

function numberText(value: number): string {
  if (Number.isFinite(value)) return `${value}`;
  return value > 0 ? '+Inf' : value < 0 ? '-Inf' : 'NaN';
}
