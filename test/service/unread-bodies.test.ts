/**
 * Bodies are removed from a page before it is parsed. Nothing else must change, and nothing broken must become valid.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { withoutBodies } from '#service/parse/unread-bodies.ts';

const BODIES = ['body', 'responseBody'];
const LONG = 'x'.repeat(100);

const without = (text: string): string => withoutBodies(Buffer.from(text)).toString('utf8');

/** Names and texts that resemble the searched places. */
const tricky = fc
  .array(
    fc.constantFrom(
      'body',
      'Body',
      'nobody',
      'responseBody',
      'ody',
      '"',
      '":"',
      '\\',
      '\\"',
      ',',
      ' ',
      ': ',
      'é',
      '😀',
    ),
    { maxLength: 6 },
  )
  .map((parts) => parts.join(''));
const text = fc.oneof(
  tricky,
  fc.tuple(tricky, tricky).map(([before, after]) => before + LONG + after),
  fc.string({ unit: 'binary', maxLength: 90 }),
);
const key = fc.oneof(fc.constantFrom(...BODIES, 'error', 'url'), tricky);
const { value } = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, text, fc.integer(), fc.constant(null), tie('list'), tie('object')),
  list: fc.array(tie('value'), { maxLength: 4 }),
  object: fc.dictionary(key, tie('value'), { maxKeys: 5 }),
}));
const written = fc
  .tuple(value, fc.constantFrom('', ' '), fc.boolean())
  .map(([json, indent, isSpaced]) => (isSpaced ? JSON.stringify(json, null, indent) : JSON.stringify(json)));

test('a page parses to the same, except for the bodies', () => {
  const emptied = (name: string, part: unknown): unknown =>
    BODIES.includes(name) && typeof part === 'string' && Buffer.byteLength(JSON.stringify(part)) - 2 >= 64 ? '' : part;
  fc.assert(
    fc.property(written, (json) => {
      expect(JSON.parse(without(json))).toEqual(JSON.parse(json, emptied));
    }),
    { numRuns: 5_000 },
  );
});

test('a page that is cut, or broken outside of a body, stays so', () => {
  const parses = (json: string): boolean => {
    try {
      JSON.parse(json);
      return true;
    } catch {
      return false;
    }
  };
  const page = `{"logs":[{"body":"${LONG}\\"${LONG}","responseBody" : "a","error":"b","url":"\\"body\\":\\"${LONG}"}]}`;
  for (let end = 0; end < page.length; end += 1) expect(parses(without(page.slice(0, end)))).toBe(false);
  fc.assert(
    fc.property(written, fc.nat(), fc.constantFrom('', '"', '\\', '"body":"', 'x', ','), (json, where, instead) => {
      const at = where % json.length;
      const broken = json.slice(0, at) + instead + json.slice(at + 1);
      // A break within a body may disappear, because the body is not read.
      if (!parses(broken) && parses(without(broken)))
        expect(JSON.parse(without(broken))).toEqual(JSON.parse(without(json)));
    }),
    { numRuns: 5_000 },
  );
});

test.each([
  ['long ones', `{"body":"${LONG}","responseBody":"${LONG}","url":"u"}`, '{"body":"","responseBody":"","url":"u"}'],
  ['with escapes', `{"body":"\\\\\\"${LONG}\\\\","a":1}`, '{"body":"","a":1}'],
  ['after spaces', `{ "body":  "${LONG}" }`, '{ "body":  "" }'],
  ['not short ones', '{"body":"short"}', '{"body":"short"}'],
  ['not other fields', `{"nobody":"${LONG}","error":"${LONG}"}`, `{"nobody":"${LONG}","error":"${LONG}"}`],
  ['not what is within a text', `{"error":"\\"body\\":\\"${LONG}"}`, `{"error":"\\"body\\":\\"${LONG}"}`],
  ['not after an escaped quote', `{"\\"body":"${LONG}"}`, `{"\\"body":"${LONG}"}`],
  ['not of another kind', `{"body":["${LONG}"],"a":"b"}`, `{"body":["${LONG}"],"a":"b"}`],
])('%s', (_name, page, expected) => {
  expect(without(page)).toBe(expected);
});
