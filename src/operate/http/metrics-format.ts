/** Format of /metrics, from the request's `Accept`. A scraper names a metrics format; a browser or curl names none. */

/** Formats. `current` is the text format for browsers and curl: no counter is held at 0. */
export type MetricsFormat = 'text' | 'openmetrics' | 'current';

/** Offered formats; the first is the default. */
const OFFERS = [
  { format: 'text', type: 'text/plain', version: '0.0.4' },
  { format: 'openmetrics', type: 'application/openmetrics-text', version: '1.0.0' },
] as const;

const OF_SCRAPERS: ReadonlySet<string> = new Set([
  'text/plain',
  'application/openmetrics-text',
  'application/vnd.google.protobuf',
]);
/** Types that browsers and curl send. */
const OF_PEOPLE: ReadonlySet<string> = new Set(['*/*', 'text/html']);

interface Range {
  readonly type: string;
  readonly version: string | undefined;
  readonly weight: number;
  /** Position in the header. */
  readonly place: number;
}

/**
 * Returns the format with the greatest weight. The most specific range that covers a format decides its weight; of
 * equals, the first in the header wins. A client that accepts neither gets the older text, as with Prometheus'
 * libraries. A request without `Accept` counts as a scraper: a missing zero would cost it an increase.
 */
export function metricsFormat(accept: string | undefined): MetricsFormat {
  const ranges = (accept ?? '').split(',').map(rangeOf);
  // A weight of 0 equals no offer.
  let best: { readonly format: 'text' | 'openmetrics'; readonly range: Range } | undefined;
  for (const { format, type, version } of OFFERS) {
    const range = covering(ranges, type, version);
    if (range === undefined) continue;
    const { weight, place } = best?.range ?? { weight: 0, place: 0 };
    if (range.weight > weight || (range.weight === weight && range.place < place)) best = { format, range };
  }
  if (best?.format === 'openmetrics') return 'openmetrics';
  const takes = (types: ReadonlySet<string>): boolean => ranges.some(({ type }) => types.has(type));
  return takes(OF_PEOPLE) && !takes(OF_SCRAPERS) ? 'current' : 'text';
}

/** Range that covers a format. A version that is not offered is another format. */
function covering(ranges: readonly Range[], type: string, version: string): Range | undefined {
  const [major] = type.split('/');
  return (
    ranges.find((range) => range.type === type && range.version === version) ??
    ranges.find((range) => range.type === type && range.version === undefined) ??
    ranges.find((range) => range.type === `${major}/*`) ??
    ranges.find((range) => range.type === '*/*')
  );
}

function rangeOf(text: string, place: number): Range {
  const [type = '', ...rest] = text.split(';').map((piece) => piece.trim().toLowerCase());
  const parameters = new Map(rest.map((parameter) => [nameOf(parameter), valueOf(parameter)]));
  const q = parameters.get('q');
  // An invalid weight counts as a rejection, since the scraper's intention is unknown.
  const weight = q === undefined ? 1 : /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(q) ? Number(q) : 0;
  return { type, version: parameters.get('version'), weight, place };
}

function nameOf(parameter: string): string {
  return parameter.split('=')[0]!.trim();
}

function valueOf(parameter: string): string {
  return parameter
    .slice(parameter.indexOf('=') + 1)
    .trim()
    .replace(/^"(.*)"$/, '$1');
}
