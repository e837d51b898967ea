/** Faults of the headers: the service's own, and those of HTTP. */
import { always, type Draft, when, type Spoiler } from './draft.ts';
import type { FuzzOperation } from './operations.ts';
import { WRONG_HEADERS } from './wrong-values.ts';

const hasHeaders = ({ headers }: FuzzOperation): boolean => Object.keys(headers).length > 0;

const FLOW = ['Svc-Flow-Control-Key', 'Svc-Flow-Control-Value'] as const;

/** Always invalid where the header is known. Ignored elsewhere. */
const STRAY: Readonly<Record<string, readonly string[]>> = {
  Forward: ['Svc-Forward-Host: x', 'Svc-Forward-: x', 'Svc-Forward-Transfer-Encoding: chunked'],
  'Not-Before': ['Svc-Not-Before: 100000000001', 'Svc-Not-Before: 99999999999999'],
};
/** Ignored by every operation. */
const UNKNOWN = ['Svc-Unknown: 1', 'Svc-: 1', 'Svc-Forwarded: x'];

const ODD = [
  `Svc-Label: ${',\u00e9,'.repeat(200)}`,
  `Svc-Label: ${'l'.repeat(8_000)}`,
  'Svc-Label:',
  'Svc-Redact-Fields: header[',
  'Svc-Redact-Fields: header[]',
  'Svc-Redact-Fields: nothing',
  `Svc-Deduplication-Id: ${'d'.repeat(5_000)}`,
  'Svc-Forward-X: \u00ff\u00fe',
  'Svc-Failure-Callback-Retries: 1',
  'Svc-Callback-Forward-X: 1',
  `Svc-Workflow-RunId: ${'r'.repeat(5_000)}`,
  'Svc-Retries: 99999999999999',
  'Svc-Delay: 3650d',
  'Svc-Timeout: 0s',
];

export const HEADER_SPOILERS: readonly Spoiler[] = [
  when(hasHeaders, (draft) => {
    const [name, kind] = draft.pick(kindsOf(draft, (known) => known in WRONG_HEADERS));
    draft.refuse(`header ${name}`, [name]).headers.push(`Svc-${name}: ${draft.pick(WRONG_HEADERS[kind]!)}`);
  }),
  when(hasHeaders, (draft) => {
    const [name] = draft.pick(kindsOf(draft, (kind) => kind === 'integer'));
    draft.refuse(`repeated header ${name}`, [name]).headers.push(`Svc-${name}: 1`, `Svc-${name}: 2`);
  }),
  // One without the other is rejected, both are valid: see `checkPartners`.
  when(hasHeaders, (draft) => {
    const name = draft.pick(FLOW);
    const value = name.endsWith('Key') ? draft.pick(['k', 'k'.repeat(5_000), '\u00ff']) : 'parallelism=1';
    draft.change(`header ${name}`, ['Flow-Control']).headers.push(`${name}: ${value}`);
  }),
  when(
    ({ headers }) => Object.keys(STRAY).some((name) => name in headers),
    (draft) => {
      const known = Object.entries(STRAY).filter(([name]) => name in draft.operation.headers);
      const line = draft.pick(known.flatMap(([, lines]) => lines));
      // An error names a forwarded header by its name at the destination.
      draft.refuse(line, [line.split(':', 1)[0]!.replace(/^Svc-Forward-(?=.)/, '')]).headers.push(line);
    },
  ),
  when(always, (draft) => {
    const line = draft.pick(UNKNOWN);
    draft.change(line, []).headers.push(line);
  }),
  when(hasHeaders, (draft) => {
    const line = draft.pick(ODD);
    draft.change(line, [line.split(':', 1)[0]!]).headers.push(line);
  }),
  when(always, (draft) => {
    const wrong = ['X: a\u0000b', 'X: a\u0001b', 'X Y: 1', ': 1', 'no colon', 'X\u0000: 1', '\u00ff: 1', 'X: a\rb'];
    draft.refuse('no header line', ['HTTP']).headers.push(draft.pick(wrong));
  }),
  when(always, (draft) => {
    const size = draft.pick([17_000, 200_000, 2_000_000]);
    draft.refuse('a huge header', ['headers']).headers.push(`X: ${'h'.repeat(size)}`);
  }),
  when(always, (draft) => {
    for (let index = 0; index < 250; index++) draft.headers.push(`X-${index}: ${index}`);
    draft.change('many headers', []);
  }),
  when(always, (draft) => {
    for (let index = 0; index < 5_000; index++) draft.headers.push(`X-${index}: ${index}`);
    draft.refuse('very many headers', ['headers']);
  }),
  when(always, (draft) => {
    const twice = ['Authorization: Bearer nope', 'Content-Type: x', 'Host: y', 'Accept: \u00ff', 'Connection: close'];
    const line = draft.pick(twice);
    draft.change(`twice ${line}`, []).headers.push(line, line);
    // A request without its own header becomes one with these.
    if (line.startsWith('Authorization') || line.startsWith('Host')) draft.where = undefined;
  }),
  when(
    ({ api }) => api !== 'control',
    (draft) => {
      const wrong = [
        undefined,
        '',
        'Bearer',
        'Bearer ',
        'Basic',
        'Basic %%%',
        'Basic Og==',
        'Bearer nope',
        'x'.repeat(4_000),
      ];
      draft.authorization = draft.pick(wrong);
      draft.refuse(`authorization ${draft.authorization}`, ['Authorization']);
    },
  ),
  when(always, (draft) => {
    draft.refuse('an expectation that nobody meets', ['Expect']).headers.push('Expect: the-unexpected');
  }),
];

/** Checks that a flow-control key has a value, a value its key, and HTTP/1.1 a host. */
export function checkPartners(draft: Draft): void {
  const [key, value] = FLOW.map((name) => draft.valuesOf(name).length > 0);
  draft.bad ||= key !== value || (!draft.host && draft.valuesOf('Host').length === 0);
}

function kindsOf({ operation }: Draft, fits: (kind: string) => boolean) {
  return Object.entries(operation.headers).filter(([, kind]) => fits(kind));
}
