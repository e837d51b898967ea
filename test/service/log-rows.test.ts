/** Pages of the log that are read from their bytes have the same entries as those that are parsed as a whole. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseLogPage } from '#service/parse/log-entry.ts';
import { readLogPage } from '#service/parse/log-rows.ts';
import { Drops } from '#service/parse/reader.ts';
import { wireSettings } from '#service/settings.ts';
import { wireNames } from '#service/wire-names.ts';

const NAMES = wireNames(wireSettings.parse({}));
const T = Date.UTC(2026, 10, 20, 10, 0, 0);

const isRead = (page: string): boolean => readLogPage(bytes(page), NAMES, (row) => row as never) !== undefined;
const bytes = (page: string): Buffer<ArrayBuffer> => Buffer.from(page);

function parsed(page: string): unknown {
  const drops = new Drops();
  try {
    const { rows, cursor, invalid } = parseLogPage(Buffer.from(page), drops, NAMES);
    return { rows, cursor, invalid, drops };
  } catch (error) {
    return (error as Error).message;
  }
}

/** Parses the page as a whole: a page with a deep value is not read from its bytes. */
const parsedAsWhole = (page: string): unknown => parsed(`${page.slice(0, -1)},"deep":[[[[[[[[[[]]]]]]]]]]}`);

const text = fc.oneof(
  fc.constantFrom('CREATED', 'a', '', 'x"y', 'é😀', 'C:\\', '\n', 'REDACTED:1', 'x'.repeat(63), 'y'.repeat(300)),
  fc.string({ unit: 'binary', maxLength: 70 }),
);
const other = fc.oneof(text, fc.double(), fc.integer(), fc.constant(null), fc.boolean(), fc.jsonValue({ maxDepth: 2 }));
const header = fc.dictionary(
  fc.constantFrom('User-Agent', 'traceparent', 'Svc-Forward-Traceparent', 'Svc-Delay', 'svc-flow-control-key', '1'),
  fc.oneof(text, fc.array(text, { maxLength: 2 }), other),
);
const row = fc.record(
  {
    time: fc.oneof(
      { weight: 9, arbitrary: fc.integer({ min: T, max: T + 99_999 }) },
      fc.constantFrom(0, 1e300, T / 1_000, T * 1_000, 1.5, -1, `${T}`),
    ),
    messageId: fc.oneof({ weight: 9, arbitrary: fc.constantFrom('msg_1', 'msg_22', 'msg_333') }, other),
    state: fc.oneof({ weight: 9, arbitrary: fc.constantFrom('CREATED', 'DELIVERED', 'CANCELED') }, other),
    url: text,
    method: fc.constantFrom('POST', ''),
    topicName: text,
    label: text,
    labels: fc.oneof(fc.array(text, { maxLength: 3 }), other),
    error: text,
    responseStatus: fc.oneof(fc.constantFrom(0, 200, 503), other),
    responseHeaders: fc.oneof(header, other),
    nextDeliveryTime: fc.constantFrom(0, T),
    maxRetries: fc.oneof(fc.constant(3), other),
    header,
    body: fc.oneof(text, other),
    unknown: other,
  },
  { requiredKeys: ['time', 'messageId'] },
);
const cursor = fc.oneof(fc.constantFrom('', '12-3', 'x'.repeat(20_000)), other);
const written = fc
  .tuple(fc.array(row, { maxLength: 5 }), fc.constantFrom('logs', 'events'), cursor, fc.constantFrom('', ' ', '\t'))
  .map(([rows, list, next, indent]) => JSON.stringify({ [list]: rows, cursor: next, more: rows[0] }, null, indent));

test('any page has the same entries, drops and errors', () => {
  let read = 0;
  fc.assert(
    fc.property(written, (page) => {
      expect(parsed(page)).toEqual(parsedAsWhole(page));
      if (isRead(page)) read += 1;
    }),
    { numRuns: 1_000 },
  );
  expect(read).toBeGreaterThan(100);
});

test('a page that is broken outside of skipped texts stays so', () => {
  fc.assert(
    fc.property(written, fc.nat(), fc.constantFrom('', '"', '\\', 'x', ',', '}', '1', '\0'), (page, where, instead) => {
      const at = where % page.length;
      const broken = page.slice(0, at) + instead + page.slice(at + 1);
      const [read, intact] = [parsed(broken), parsed(page)];
      const isAccepted = typeof parsedAsWhole(broken) === 'string' && typeof read !== 'string';
      expect(isAccepted ? read : intact).toEqual(intact);
    }),
    { numRuns: 1_000 },
  );
});

const ENTRY = { time: T, state: 'DELIVERED', messageId: 'msg_1', url: 'https://a.example/', label: 'x', maxRetries: 3 };

test.each([
  ['an ordinary page', { logs: [ENTRY, ENTRY], cursor: '1-2' }, true],
  ['its last page', { logs: [] }, true],
  ['a text with escapes', { logs: [{ ...ENTRY, error: '"\n\\é' }] }, true],
  ['values that are not wanted', { logs: [{ ...ENTRY, more: { list: [1, -2.5e3, [true, null]], text: '"' } }] }, true],
  ['a cursor that is a number', { logs: [], cursor: 12 }, false],
  ['no list', { logs: null }, false],
  ['a deep value', { logs: [{ ...ENTRY, more: [[[[[[[[[[]]]]]]]]]] }] }, false],
])('%s', (_name, page, isExpected) => {
  expect(isRead(JSON.stringify(page))).toBe(isExpected);
});

test('a skipped text is not checked', () => {
  const page = JSON.stringify({ logs: [{ ...ENTRY, more: 'x'.repeat(200) }] });
  const broken = page.replace('xx', 'x\0');
  expect(parsedAsWhole(broken)).toBeTypeOf('string');
  expect(parsed(broken)).toEqual(parsed(page));
});

test('a page that is cut is not read', () => {
  const page = JSON.stringify({ logs: [{ ...ENTRY, body: 'x'.repeat(200) }], cursor: '1-2' });
  for (let end = 0; end < page.length; end += 1) expect(isRead(page.slice(0, end))).toBe(false);
  expect(isRead(`${page}x`)).toBe(false);
  expect(isRead(`${page} \n`)).toBe(true);
});
