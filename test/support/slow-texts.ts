/**
 * Searches for texts whose time grows faster than their length. A text repeats a few parts, so it is the same text at any
 * length. The processor time of this process is measured, which the load of the machine does not change.
 */
import { redactCredentials } from '#automate/actions/redact-credentials.ts';
import { WORKFLOW_ENTRY } from '#automate/policies/environments.ts';
import { compileExpression } from '#automate/policies/expression.ts';
import { parseConfig } from '#config/load.ts';
import { filterFault } from '#foundation/domain/filter-value.ts';
import { matchesGlob } from '#foundation/domain/glob.ts';
import { incidentReason } from '#foundation/domain/incident-reason.ts';
import { redact, redactData } from '#foundation/domain/redact.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { storableUrl } from '#observe/aggregation/destination.ts';
import { destinationLabel, workflowTemplate } from '#observe/metrics/labels.ts';
import { maskedJson } from '#service/mask-secrets.ts';

const JSON_BODY = (text: string): Buffer => Buffer.from(JSON.stringify({ error: text, token: text }));

/** Functions that get texts of services, destinations, clients, and configurations. */
const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  redaction: (text) => redact(text),
  'redaction before a cut': (text) => redact(text, 500),
  'redaction of data': (text) => redactData({ [text.slice(0, 200)]: text, headers: [[text, text]] }),
  'redaction of an archive': (text) =>
    redactCredentials({ url: `https://a/${text}`, header: { Location: `https://a/${text}` } }),
  'masks of a body': (text) => maskedJson(JSON_BODY(text)),
  'reason of an incident': (text) => incidentReason(500, text),
  filter: (text) => filterFault(text),
  glob: (text) => matchesGlob('*a*b?c*', text),
  'URL in a trace': (text) => storableUrl(`https://a.example/${text}`),
  'label of a destination': (text) => destinationLabel(`https://${text}`),
  'label of a workflow': (text) => workflowTemplate(`https://a.example/${text}`),
  expression: (text) => compileExpression(`entry.cause == "${text}"`, WORKFLOW_ENTRY),
  YAML: (text) => parseConfig(`accounts:\n  - name: ${text}\n`, { file: 'opsd.yaml', baseDir: '/', env: {} }),
};

const PARTS = [
  ['%25', '%3A', '%2525', '%', ':', '/', '//', '://', '@', '=', '=>', '?', '&', '#', ';', ',', '.', ' ', '\t', '\n'],
  ['"', "'", '`', '\\', '\\"', '[', ']', '{', '}', '(', ')', '<', '>', '|', '-', '_', '~', '*', '$', '${', '|-', '- '],
  ['a', 'Z', '7', 'é', '\u0301', '\u2800', '😀', 'token', 'token=', 'password: ', 'key', 'Bearer ', 'basic ', 'eyJ'],
  ['https://', 'http:', 'a:b@', 'mailto:', 'u0026', 'sk_live_', '-----BEGIN ', 'PRIVATE KEY-----', '$2a$10$', 'sig_'],
  [
    '<h1>',
    '<script',
    '</',
    '"error":"',
    '{"message":',
    'cookie=',
    'authorization: ',
    '&a ',
    '*a ',
    '? ',
    '!!',
    '%YAML',
  ],
].flat();

const SHORT = 2_000;
const LONG = 32_000;
/** A linear function needs 16 times as long, a quadratic one 256 times. */
const MOST_GROWTH = 64;
/** Time that harms nobody, in milliseconds. Compilation and garbage collection disturb the growth of shorter times. */
const LEAST_MS = 100;

export interface SlowText {
  readonly reader: string;
  readonly part: string;
  readonly ms: number;
}

/** Tries `count` texts on each reader. @returns those that grow faster than their length */
export function slowTexts(seed: number, count: number, readers = READERS): readonly SlowText[] {
  const random = seededRandom(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const slow: SlowText[] = [];
  for (let n = 0; n < count; n++) {
    const part = Array.from({ length: 1 + Math.floor(random() * 4) }, () => pick(PARTS)).join('');
    for (const [reader, read] of Object.entries(readers)) {
      const ms = slowMs(read, part);
      if (ms !== undefined) slow.push({ reader, part, ms });
    }
  }
  return slow;
}

/** Returns the time of the long text if it grows too fast, also when it is measured again. */
export function slowMs(read: (text: string) => unknown, part: string): number | undefined {
  const long = part.repeat(Math.ceil(LONG / part.length));
  const once = processorMs(read, long, 1);
  if (once < LEAST_MS) return undefined;
  const ms = Math.min(once, processorMs(read, long, 3));
  const shortMs = processorMs(read, part.repeat(Math.ceil(SHORT / part.length)), 5);
  return ms >= LEAST_MS && ms > MOST_GROWTH * shortMs ? ms : undefined;
}

/** Returns the least processor time of some runs, in milliseconds. */
function processorMs(read: (text: string) => unknown, text: string, runs: number): number {
  let least = Infinity;
  for (let run = 0; run < runs; run++) {
    const before = process.cpuUsage();
    read(text);
    least = Math.min(least, process.cpuUsage(before).user / 1_000);
  }
  return least;
}
