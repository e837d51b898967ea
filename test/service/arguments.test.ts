/** Values on the wire: queries, paths and headers arrive unchanged, or nothing is sent. */
import fc from 'fast-check';
import { isBlank } from '#foundation/domain/filter-value.ts';
import { describe, expect, test } from 'vitest';
import { destinationPath, pathSegment, shownDestination } from '#service/path.ts';
import { buildQuery, type QueryValue } from '#service/query.ts';
import { InvalidRequestError } from '#service/service-error.ts';
import { call, clientUnderTest, failureOf, json, PUBLISH, TRIGGER, type UnderTest } from './client-under-test.ts';

const T = Date.UTC(2026, 10, 20);
const CONTROL = /\p{Cc}/u;

/** Any text, including invalid text. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom('a', ',', '&', '=', '?', '#', '%', '+', '/', '.', ' ', '\n', '\0', '\u00e9', '\ud800'),
  }),
);

describe('queries', () => {
  test('accepted values are equal for any server; ambiguous ones are rejected', () => {
    const value: fc.Arbitrary<QueryValue> = fc.oneof(
      anyText,
      fc.integer(),
      fc.double(),
      fc.array(fc.oneof(anyText, fc.integer()), { maxLength: 4 }),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom('a', 'b c', 'd[]'), value), { maxLength: 5 }), (parameters) => {
        const expressible = (item: string | number, listed: boolean): boolean =>
          typeof item === 'number'
            ? Number.isSafeInteger(item)
            : !isBlank(item) && item.isWellFormed() && !CONTROL.test(item) && !(listed && item.includes(','));
        const fine = parameters.every(([, given]) =>
          Array.isArray(given)
            ? given.length > 0 && given.every((item: string | number) => expressible(item, true))
            : expressible(given as string | number, false),
        );
        if (!fine) {
          expect(() => buildQuery('x', parameters)).toThrow(InvalidRequestError);
          return;
        }
        const sent = buildQuery('x', parameters);
        expect(sent).toMatch(/^(?:\?[\x21-\x7e]+)?$/);
        const back = [...new URL(`http://h/p${sent}`).searchParams];
        expect(back).toEqual(parameters.flatMap(([name, given]) => [given].flat().map((item) => [name, String(item)])));
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    ['an undefined value', undefined],
    ['null', null],
    ['a list with a hole', Array(1)],
    ['a list with undefined', [undefined]],
    ['NaN', Number.NaN],
    ['Infinity', Infinity],
    ['a list with NaN', [Number.NaN]],
    ['an object', {}],
    ['a boolean', true],
    ['an empty list', []],
    ['an empty text', ''],
    ['a list with an empty text', ['']],
    ['a comma in a list', ['a,b']],
  ])('%s is rejected', (_what, value) => {
    expect(() => buildQuery('list-logs', [['label', value as QueryValue]])).toThrow(/^list-logs: label/);
  });
});

describe('paths', () => {
  test('a segment stays one segment, in any place', () => {
    fc.assert(
      fc.property(anyText, (value) => {
        const fine = value !== '' && value !== '.' && value !== '..' && value.isWellFormed() && !CONTROL.test(value);
        if (!fine) {
          expect(() => pathSegment('x', 'id', value)).toThrow(InvalidRequestError);
          return;
        }
        const { pathname, search, hash } = new URL(`http://h/v2/search/${pathSegment('x', 'id', value)}/rename`);
        const [, v2, search2, segment, rename, ...rest] = pathname.split('/');
        expect([v2, search2, rename, rest, search, hash]).toEqual(['v2', 'search', 'rename', [], '', '']);
        expect(decodeURIComponent(segment!)).toBe(value);
      }),
      { numRuns: 500 },
    );
  });

  test.each(['.', '..', '', 'a\nb', 'a\0', '\u0085', '\ud800'])('%j is rejected as a segment', (value) => {
    expect(() => pathSegment('x', 'id', value)).toThrow(InvalidRequestError);
  });

  test('a URL is appended unchanged', () => {
    fc.assert(
      fc.property(
        fc.webUrl({ withQueryParameters: true }),
        fc.constantFrom('/a/../b', '//x', '?y=%2F,1', ''),
        (base, tail) => {
          const url = base + tail;
          expect(destinationPath('x', url)).toBe(url);
        },
      ),
    );
  });

  test.each([
    'http://a/ b',
    'http://a/\r\nX: y',
    'http://a/\u00e9',
    'http://a/#fragment',
    'https://',
    'http://a:99999/',
    'ftp://a/',
    'HTTP://a/',
    'javascript://a/',
  ])('%j is rejected as a destination', (value) => {
    expect(() => destinationPath('x', value)).toThrow(InvalidRequestError);
  });

  test('of a destination only the origin is shown', () => {
    expect(shownDestination('https://u:p@a.example.com:8443/hooks/T0/secret?x=y')).toBe('https://a.example.com:8443/…');
    expect(shownDestination('orders/eu')).toBe('orders%2Feu');
  });

  test('dots, double slashes and encoded slashes reach the server untouched', async () => {
    const { sink, message } = await clientUnderTest({ answer: json('{"messageId":"m"}'), prefix: '/eu/' });
    await message.publish({ ...PUBLISH, destination: 'http://h/a/../b?x=1,2&y=%2F' }, call);
    await message.publish({ ...PUBLISH, destination: 'http://h//./%2e%2E/?' }, call);
    expect(sink.requests.map((request) => request.url)).toEqual([
      '/eu/v2/publish/http://h/a/../b?x=1,2&y=%2F',
      '/eu/v2/publish/http://h//./%2e%2E/?',
    ]);
  });
});

describe('headers', () => {
  test('a forwarded value arrives as UTF-8, or is rejected', async () => {
    const { sink, message } = await clientUnderTest({ answer: json('{"messageId":"m"}') });
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(anyText, fc.string({ unit: fc.constantFrom('\u00e9', '\u20ac', 'a', '\t', ' ') })),
        async (value) => {
          const sent = message.publish({ ...PUBLISH, forward: { 'X-Any': value } }, call);
          if (/(?!\t)\p{Cc}/u.test(value) || !value.isWellFormed()) {
            expect(await failureOf(sent)).toBeInstanceOf(InvalidRequestError);
            return;
          }
          await sent;
          // In HTTP, space around a value is not part of it.
          const received = sink.requests.at(-1)!.headers['svc-forward-x-any'] as string;
          expect(Buffer.from(received, 'latin1').toString()).toBe(value.replace(/^[\t ]+|[\t ]+$/g, ''));
        },
      ),
      { numRuns: 60 },
    );
  });

  test.each([
    ['a line break', { forward: { A: 'b\r\nSvc-Retries: 9' } }, /control character/],
    ['NUL', { forward: { A: '\0' } }, /control character/],
    ['half a surrogate pair', { forward: { A: '\ud83d' } }, /not well-formed/],
    ['a header name', { forward: { 'A: b': 'c' } }, /not valid for a header/],
    ['a comma in a label', { label: ['a,b'] }, /comma/],
    ['no labels', { label: [] }, /empty list/],
    ['one text instead of a list', { label: 'a' }, /must be a list/],
    ['an empty label', { label: [''] }, /empty/],
    ['half a retry', { retries: 0.5 }, /integer/],
    ['negative retries', { retries: -1 }, /integer/],
    ['a timeout in weeks', { timeout: '1w' }, /duration/],
    ['a flow key alone', { flowControl: { key: 'k' } }, /flowControlValue is empty/],
    ['a period without rate', { flowControl: { key: 'k', parallelism: 1, period: 1 } }, /needs a rate/],
    ['no parallelism at all', { flowControl: { key: 'k', parallelism: 0 } }, /integer from 1/],
    ['an empty flow key', { flowControl: { key: '', rate: 1 } }, /empty/],
    ['a callback that is no URL', { callback: 'orders' }, /http/],
    ['a redaction that is not known', { redactFields: ['header'] }, /redactFields/],
    ['a misspelt member', { labels: ['a'] }, /no key "labels"/],
  ])('%s is rejected', async (_what, over, problem) => {
    const { sink, message } = await clientUnderTest();
    const error = await failureOf(message.publish({ ...PUBLISH, ...over } as never, call));
    expect(error).toBeInstanceOf(InvalidRequestError);
    expect(error.message).toMatch(problem);
    expect(sink.requests).toEqual([]);
  });
});

describe('values that cannot be expressed', () => {
  type Ask = (client: UnderTest, value: never) => Promise<unknown>;
  const resume: Ask = ({ message }, ids) => message.resumeWorkflowDlq(ids, {}, call);
  const remove: Ask = ({ message }, ids) => message.deleteWorkflowDlq(ids, call);
  const prune: Ask = ({ message }, selection) => message.deleteDlq(selection, call);
  const logs: Ask = ({ message }, query) => message.listLogs(query, call);
  const dlq: Ask = ({ message }, query) => message.listWorkflowDlq(query, call);
  const budget: Ask = ({ management }, dollars) => management.updateBudget('a', dollars, call);
  const many = Array.from({ length: 101 }, (_, index) => `dlq-${index}`);

  test.each<readonly [string, Ask, unknown]>([
    ['resume without ids', resume, []],
    ['resume with undefined ids', resume, undefined],
    ['resume by filter', resume, { label: ['a'] }],
    ['resume with an id that is none', resume, ['']],
    ['resume with two ids in one', resume, ['a,b']],
    ['resume with one text instead of a list', resume, 'dlq-1'],
    ['resume of more than a page', resume, many],
    ['delete without ids', remove, []],
    ['delete by filter', remove, { label: ['a'], count: 1 }],
    ['delete with a hole', remove, ['a', undefined]],
    ['delete of more than a page', remove, many],
    ['prune of everything', prune, {}],
    ['prune without toDate', prune, { count: 1, label: ['a'] }],
    ['prune with an undefined toDate', prune, { count: 1, toDate: undefined }],
    ['prune without count', prune, { toDate: T }],
    ['prune with count 0', prune, { toDate: T, count: 0 }],
    ['prune with count 101', prune, { toDate: T, count: 101 }],
    ['prune with seconds', prune, { toDate: T / 1_000, count: 1 }],
    ['prune with microseconds', prune, { toDate: T * 1_000, count: 1 }],
    ['prune with ids and filters', prune, { dlqIds: ['a'], toDate: T, count: 1 }],
    ['prune with no ids', prune, { dlqIds: [] }],
    ['prune with undefined ids beside filters', prune, { dlqIds: undefined, toDate: T, count: 1 }],
    ['prune with a filter that is lost', prune, { toDate: T, count: 1, label: undefined }],
    ['prune with an empty filter', prune, { toDate: T, count: 1, label: [] }],
    ['prune with a misspelt filter', prune, { toDate: T, count: 1, lable: ['a'] }],
    ['prune by a status that is none', prune, { toDate: T, count: 1, responseStatus: [99] }],
    ['logs of FAILED', logs, { state: 'FAILED' }],
    ['logs with count 101', logs, { count: 101 }],
    ['logs with half an entry', logs, { count: 0.5 }],
    ['logs with an empty cursor', logs, { cursor: '' }],
    ['logs with one text instead of a list', logs, { label: 'a' }],
    ['DLQ with a comma in a URL', dlq, { workflowUrl: ['https://a/?x=1,2'] }],
    ['DLQ with a filter that it does not have', dlq, { topicName: 'a' }],
    ['budget 0', budget, 0],
    ['budget 19', budget, 19],
    ['budget 10001', budget, 10_001],
    ['budget -1', budget, -1],
    ['budget 20.5', budget, 20.5],
    ['budget NaN', budget, Number.NaN],
    ['budget as text', budget, '50'],
    ['no budget', budget, undefined],
    ['a plan of another brand', ({ send }) => send('set-plan', { id: 'a', plan_name: 'other_fixed_1m' }), undefined],
    ['a plan that is not sold', ({ send }) => send('set-plan', { id: 'a', plan_name: 'free' }), undefined],
    ['a period that is none', ({ management }) => management.getVectorStats('a', '2h' as never, call), undefined],
    ['another account through the id', ({ send }) => send('rotate-token', { id: '..' }), undefined],
    ['no account', ({ send }) => send('move-to-team', { msgsvc_id: '', target_team_id: 't' }), undefined],
    ['no endpoints', ({ send }) => send('add-endpoints', { urlGroupName: 'g', endpoints: [] }), undefined],
    ['a workflow by name', ({ message }) => message.trigger({ ...TRIGGER, workflowUrl: 'invoice' }, call), undefined],
    ['a body that is an object', ({ message }) => message.publish({ ...PUBLISH, body: {} as never }, call), undefined],
  ])('%s', async (_what, run, value) => {
    const client = await clientUnderTest({ answer: json('{"deleted":0,"workflowRuns":[],"logs":[],"messages":[]}') });
    const error = await failureOf(run(client, value as never));
    expect(error).toBeInstanceOf(InvalidRequestError);
    expect(error).toMatchObject({ effect: 'none', code: 'invalid_request' });
    expect(client.sink.requests).toEqual([]);
    expect(client.events).toEqual([]);
  });
});
