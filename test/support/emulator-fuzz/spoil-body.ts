/** Faults of the body: as JSON, as text, as bytes, and in its transfer. */
import { always, type Draft, type Framing, when, type Spoiler } from './draft.ts';
import type { Fields, FuzzOperation } from './operations.ts';
import { WRONG_FIELDS } from './wrong-values.ts';

/** Larger than the maximum body of the fuzzed emulator. */
const TOO_LARGE = 300_000;
export const MAX_BODY_BYTES = 200_000;

const hasJson = ({ body }: FuzzOperation): boolean => typeof body === 'object';
const hasFields = ({ body }: FuzzOperation): boolean => typeof body === 'object' && Object.keys(body).length > 0;
const hasNeeded = ({ body }: FuzzOperation): boolean =>
  typeof body === 'object' && Object.values(body).some(({ required }) => required);

/** Bodies that are not a JSON object, including an empty one. */
const NO_OBJECT = [
  '{',
  'null',
  '[]',
  '"x"',
  '7',
  '-0',
  '1e999',
  'true',
  '{"a":}',
  "{'a':1}",
  '[['.repeat(50_000),
  '{"a":'.repeat(30_000),
  '{"a":1}x',
  '\u0000',
  'NaN',
  '{"a":NaN}',
  '{"a":1,}',
  '{"a":"\u0001"}',
  '{"a":"\\u12"}',
  '{"a":"',
];

/** Bytes that are not UTF-8. */
const NO_UTF8 = [
  Buffer.from([0x7b, 0xff, 0xfe, 0x7d]),
  Buffer.from('{"name":"text"}', 'utf16le'),
  Buffer.from('{"name":"\u00e9"}', 'latin1'),
  Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]),
  Buffer.from([0xc0, 0x80]),
];

const FRAMINGS: Readonly<Record<Exclude<Framing, 'good' | 'garbage-after'>, readonly string[] | undefined>> = {
  truncated: ['body', 'HTTP'],
  chunks: undefined,
  'chunks-cut': ['body', 'HTTP'],
  'two-lengths': undefined,
  'negative-length': undefined,
  'absurd-length': undefined,
  'length-and-chunks': undefined,
};

export const BODY_SPOILERS: readonly Spoiler[] = [
  when(hasJson, (draft) => {
    const wrong = draft.pick(NO_OBJECT);
    draft.refuse(`body ${wrong}`, ['body']).body = Buffer.from(wrong);
  }),
  when(hasNeeded, (draft) => void (draft.refuse('no body', needed(draft)).body = Buffer.alloc(0))),
  when(hasNeeded, (draft) => void (draft.refuse('an empty object', needed(draft)).body = Buffer.from('{}'))),
  when(hasJson, (draft) => void (draft.refuse('no UTF-8', ['body']).body = draft.pick(NO_UTF8))),
  when(hasFields, (draft) => {
    const [name, { kind }] = draft.pick(Object.entries(draft.operation.body as Fields));
    const wrong = draft.pick(WRONG_FIELDS[kind]);
    draft.fields.set(name, wrong);
    // A body that was replaced as a whole stays so.
    draft.refuse(`field ${name} = ${wrong}`, [name, ...(draft.body === undefined ? [] : ['body'])]);
  }),
  when(
    ({ api, body }) => api === 'control' && typeof body === 'object',
    (draft) => {
      const name = draft.pick(['unknown', '__proto__', 'constructor', 'u'.repeat(300)]);
      draft.fields.set(name, '1');
      draft.refuse(`field ${name}`, [name]);
    },
  ),
  when(always, (draft) => {
    draft.refuse('a body over the limit', ['body']).body = Buffer.alloc(TOO_LARGE, draft.pick(['x', ' ', '[']));
  }),
  when(
    ({ body }) => body !== 'none',
    (draft) => {
      const types = ['text/plain', 'multipart/form-data', 'x', ';;;', 'application/json; charset=utf-99', '', '\u00ff'];
      const type = draft.pick([...types, `x/${'y'.repeat(5_000)}`, 'application/json; charset=utf-16']);
      draft.change(`content type ${type}`, []).headers.push(`Content-Type: ${type}`);
    },
  ),
  ...Object.entries(FRAMINGS).map(([framing, where]): Spoiler => ({
    fits: always,
    spoil: (draft) => void (draft.refuse(framing, where).framing = framing as Framing),
  })),
  when(always, (draft) => {
    if (draft.framing === 'good') draft.change('garbage after').framing = 'garbage-after';
  }),
];

function needed({ operation }: Draft): readonly string[] {
  const fields = Object.entries(operation.body as Fields).filter(([, { required }]) => required);
  return ['body', ...fields.map(([name]) => name)];
}
