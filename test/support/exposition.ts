/** A strict parser of the Prometheus text format, version 0.0.4. It shares no code with the writer. */

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Exposition {
  readonly samples: readonly Sample[];
  readonly types: Readonly<Record<string, string>>;
  /** Returns the value of the single sample with this name and at least these labels; undefined when there is none. */
  value(name: string, labels?: Readonly<Record<string, string>>): number | undefined;
  /** Returns the sum over all samples with this name and at least these labels. */
  sum(name: string, labels?: Readonly<Record<string, string>>): number;
  all(name: string, labels?: Readonly<Record<string, string>>): readonly Sample[];
}

const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/gy;

export function parseExposition(text: string): Exposition {
  const samples: Sample[] = [];
  const types: Record<string, string> = {};
  for (const line of text.split('\n')) {
    if (line === '') continue;
    if (line.startsWith('#')) {
      const [, kind, name, type] = line.split(' ');
      if (kind === 'TYPE') types[name!] = type!;
      continue;
    }
    const match = SAMPLE.exec(line);
    if (match === null) throw new Error(`not a sample: ${line}`);
    samples.push({ name: match[1]!, labels: parseLabels(match[2] ?? '', line), value: parseValue(match[3]!) });
  }
  return expositionOf(samples, types);
}

export function expositionOf(samples: readonly Sample[], types: Exposition['types']): Exposition {
  const all = (name: string, labels: Readonly<Record<string, string>> = {}): Sample[] =>
    samples.filter(
      (sample) => sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
    );
  return {
    samples,
    types,
    all,
    sum: (name, labels) => all(name, labels).reduce((sum, sample) => sum + sample.value, 0),
    value(name, labels) {
      const found = all(name, labels);
      if (found.length > 1) throw new Error(`${name} has ${found.length} samples with ${JSON.stringify(labels)}`);
      return found[0]?.value;
    },
  };
}

function parseLabels(text: string, line: string): Record<string, string> {
  const labels: Record<string, string> = {};
  let end = 0;
  for (const match of text.matchAll(LABEL)) {
    labels[match[1]!] = match[2]!.replaceAll(/\\(.)/g, (_escape, char: string) => (char === 'n' ? '\n' : char));
    end = match.index + match[0].length;
  }
  if (end !== text.length) throw new Error(`labels cannot be read: ${line}`);
  return labels;
}

function parseValue(text: string): number {
  if (text === '+Inf' || text === '-Inf') return text === '+Inf' ? Infinity : -Infinity;
  const value = Number(text);
  if (Number.isNaN(value) && text !== 'NaN') throw new Error(`not a value: ${text}`);
  return value;
}

export async function scrape(url: string): Promise<Exposition> {
  const response = await fetch(`${url}/metrics`);
  if (response.status !== 200) throw new Error(`scrape answered ${response.status}: ${await response.text()}`);
  return parseExposition(await response.text());
}

/** Returns the counts about the service, by series: none of them decreases. */
export function serviceCounts(metrics: Exposition): ReadonlyMap<string, number> {
  return new Map(
    metrics.samples
      .filter(({ name }) => name.startsWith('msgsvc_') && /_(total|count|sum|bucket)$/.test(name))
      .map(({ name, labels, value }) => [`${name} ${JSON.stringify(labels)}`, value]),
  );
}
