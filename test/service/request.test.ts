/** Requests of operations: no bulk call without ids or a filter, and no invalid value. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { operationNamed, OPERATIONS, type Operation } from '#service/operations.ts';
import { readValues } from '#service/operation-values.ts';
import { checkSelection, requestOf } from '#service/request.ts';
import { InvalidRequestError } from '#service/service-error.ts';
import { wireNames } from '#service/wire-names.ts';
import { wireSettings } from '#service/settings.ts';

const NAMES = wireNames(wireSettings.parse({}));

function request(name: string, given: Readonly<Record<string, unknown>>, names = NAMES) {
  const operation = operationNamed(name)!;
  const values = readValues(operation, given);
  checkSelection(operation, values);
  return requestOf(operation, values, names);
}

const BULK = OPERATIONS.filter(({ bulk }) => bulk !== undefined);
const NOW = 1_795_000_000_000;

describe.each(BULK.map(({ name }) => name))('%s', (name) => {
  test.each([
    ['nothing', {}],
    ['an empty list of ids', { dlqIds: [] }],
    ['an empty list of ids as text', { dlqIds: '[]' }],
    ['an empty text', { dlqIds: '' }],
    ['a comma', { label: ',' }],
    ['an empty filter', { label: '' }],
    ['an empty list', { label: [] }],
    ['a blank filter, which a service may trim', { label: ' ' }],
    ['a filter without a visible character', { label: '\u200B\u3164' }],
    ['a blank run or message', name === 'delete-dlq' ? { messageId: ' ' } : { workflowRunId: ' ' }],
    ['a list with an empty text', { label: [''] }],
    ['a list with null', { label: [null] }],
    ['a count', { count: 10 }],
    ['a cursor', { cursor: 'c-1' }],
    ['times', { fromDate: NOW - 1, toDate: NOW }],
    ['everything that selects nothing', { fromDate: NOW - 1, toDate: NOW, count: '10', cursor: 'c-1' }],
  ])('cannot be sent with %s', (_what, given) => {
    // With the limit that a delete needs, so that only the filter is wrong.
    const bounded = 'dlqIds' in given ? given : { toDate: NOW, ...given };
    expect(() => request(name, bounded)).toThrow(InvalidRequestError);
  });

  test('cannot be sent with ids and a filter, which the service would ignore', () => {
    expect(() => request(name, { dlqIds: 'd-1', label: 'billing' })).toThrow(/ignores label/);
    expect(() => request(name, { dlqIds: 'd-1', count: 5 })).toThrow(/ignores count/);
  });

  test('takes at most 100 ids', () => {
    const ids = Array.from({ length: 101 }, (_, n) => `d-${n}`);
    expect(request(name, { dlqIds: ids.slice(1) }).path.split('dlqIds=')).toHaveLength(101);
    expect(() => request(name, { dlqIds: ids })).toThrow(/more than 100/);
  });
});

test('a workflow run’s creation time alone is not a filter', () => {
  expect(() => request('delete-workflow-dlq', { workflowCreatedAt: NOW })).toThrow(/act on everything/);
});

test('dead letters cannot be deleted by filter without an upper time limit', () => {
  expect(() => request('delete-dlq', { label: 'billing' })).toThrow(/toDate is required/);
  expect(request('delete-dlq', { label: 'billing', toDate: NOW }).path).toBe(`/v2/dlq?label=billing&toDate=${NOW}`);
});

test('any bulk request that is accepted has ids or a filter on the wire, in the form that was given', () => {
  const texts = fc.array(fc.constantFrom('', 'a', 'b', ' ', ',', '[]', 'a,b', '"'), { maxLength: 3 });
  const good = fc.constantFrom<unknown>('x', 'a,b', '["x"]', ['a'], NOW, 500);
  const bad = fc.oneof(texts, fc.constantFrom('', ' ', ',', '[]', '[""]', null, 0, true), fc.object({ maxDepth: 1 }));
  const value = fc.oneof({ weight: 4, arbitrary: good }, { weight: 1, arbitrary: bad });
  const entries = (operation: Operation) =>
    fc.dictionary(fc.constantFrom(...Object.keys(operation.keys), 'all', '__proto__'), value, { maxKeys: 4 });
  const bulkCall = fc
    .constantFrom(...BULK)
    .chain((operation) => entries(operation).map((given) => ({ operation, given })));
  let accepted = 0;
  fc.assert(
    fc.property(bulkCall, ({ operation, given }) => {
      let path: string;
      try {
        ({ path } = request(operation.name, given));
      } catch (error) {
        expect(error).toBeInstanceOf(InvalidRequestError);
        return;
      }
      accepted += 1;
      const sent = new URL(path, 'http://x').searchParams;
      const selecting = [...sent].filter(([key, text]) => operation.keys[key]?.selects === true && text.trim() !== '');
      expect(selecting.length).toBeGreaterThan(0);
      // No filter that was given is lost.
      const queried = Object.keys(given).filter((key) => operation.keys[key]?.in === 'query');
      expect(queried.filter((key) => !sent.has(key))).toEqual([]);
    }),
    { numRuns: 2_000 },
  );
  expect(accepted).toBeGreaterThan(30);
});

test.each([
  ['list-logs', { lable: 'x' }, /no key "lable"; did you mean label\? \(its keys are cursor, messageId/],
  ['list-url-groups', { x: 1 }, /it has no keys/],
  ['list-logs', { count: 'many' }, /count must be an integer from 1 to 100/],
  ['list-logs', { count: 101 }, /count must be an integer from 1 to 100/],
  ['list-logs', { fromDate: 1_795_000_000 }, /fromDate must be epoch milliseconds/],
  ['list-logs', { state: 'FAILED' }, /state must be one of CREATED/],
  ['list-logs', { messageId: 5 }, /messageId must be text/],
  ['publish', {}, /destination is required/],
  ['publish', { destination: 'ftp://x' }, /must start with http/],
  ['publish', { destination: 'g', contentBasedDeduplication: 'yes' }, /must be true or false/],
  ['publish', { destination: 'g', delay: 'soon' }, /must be a duration/],
  ['publish', { destination: 'g', flowControlKey: 'k' }, /flowControlKey and flowControlValue require each other/],
  ['publish', { destination: 'g', forward: '["x"]' }, /forward must be a JSON object/],
  ['publish', { destination: 'g', forward: { 'a b': 'x' } }, /not valid for a header/],
  ['publish', { destination: 'g', forward: { A: 'x\r\nB: y' } }, /control character/],
  ['publish', { destination: 'g', label: 'snowman-\ud83d' }, /not well-formed/],
  ['publish', { destination: 'g', body: { a: 1 } }, /body must be text/],
  ['publish', { destination: 'g', redactFields: 'cookies' }, /must be body, headers or header/],
  ['trigger', { workflowUrl: 'group' }, /must start with http/],
  ['resume-workflow-dlq', { dlqIds: 'd', flowControlValue: 'rate=1' }, /overrideFlowControlKey and flowControlValue/],
  ['add-endpoints', { urlGroupName: 'g', endpoints: '[]' }, /at least one endpoint/],
  ['add-endpoints', { urlGroupName: 'g', endpoints: 'one' }, /must be a list/],
  ['add-endpoints', { urlGroupName: 'g', endpoints: [{ url: 'http://x/', id: 1 }] }, /"id" is not one of url, name/],
  ['add-endpoints', { urlGroupName: '..', endpoints: [{ url: 'http://x/' }] }, /another path/],
  ['update-budget', { id: 'a', budget: 19 }, /0 for unlimited, or 20 to 10000/],
  ['update-budget', { id: 'a', budget: '10001' }, /from 0 to 10000/],
  ['set-plan', { id: 'a', plan_name: 'free' }, /plan_name must be one of paid/],
  ['get-index', { id: '../x', period: '1h' }, /no key "period"/],
] as const)('%s rejects %j', (name, given, message) => {
  expect(() => request(name, given)).toThrow(message);
});

test('an error never shows a value', () => {
  for (const { name, keys } of OPERATIONS) {
    for (const key of Object.keys(keys)) {
      for (const value of ['canary-value\u0000', { canary: 'canary-value' }, ['canary-value\n']]) {
        try {
          request(name, { id: 'x', [key]: value });
        } catch (error) {
          expect(String(error)).not.toContain('canary-value');
        }
      }
    }
  }
});

test('settings are headers of the installation, and forwarded headers keep their names', () => {
  const names = wireNames(wireSettings.parse({ headerPrefix: 'Acme-Q', product: 'acme' }));
  const { headers, body, path, hidden } = request(
    'publish',
    {
      destination: 'https://user:pw@x.example/hook?key=1',
      body: 'hello',
      contentType: 'text/plain',
      retries: '0',
      notBefore: 1_795_000_000,
      label: ['a', 'Rückläufer'],
      flowControlKey: 'k',
      flowControlValue: 'parallelism=2, rate=1',
      contentBasedDeduplication: true,
      forward: { 'X-One': '1' },
      forwardMyHeader: '2',
      callbackForward: '{"X-Two":"3"}',
      failureCallbackRetryDelay: 'pow(2, retried)',
    },
    names,
  );
  expect(path).toBe('/v2/publish/https://user:pw@x.example/hook?key=1');
  expect([body, hidden]).toEqual(['hello', ['?key=1', 'pw', 'hello', '1', '2', '3']]);
  expect(headers).toEqual({
    'Content-Type': 'text/plain',
    'Acme-Q-Retries': '0',
    'Acme-Q-Not-Before': '1795000000',
    // Bytes of UTF-8, each as one character.
    'Acme-Q-Label': 'a,RÃ¼cklÃ¤ufer',
    'Acme-Q-Flow-Control-Key': 'k',
    'Acme-Q-Flow-Control-Value': 'parallelism=2, rate=1',
    'Acme-Q-Content-Based-Deduplication': 'true',
    'Acme-Q-Forward-X-One': '1',
    'Acme-Q-Forward-My-Header': '2',
    'Acme-Q-Callback-Forward-X-Two': '3',
    'Acme-Q-Failure-Callback-Retry-Delay': 'pow(2, retried)',
  });
});

test('management paths, fields and plans have the names of the installation', () => {
  const names = wireNames(wireSettings.parse({ product: 'acme' }));
  expect(request('move-to-team', { msgsvc_id: 'a', target_team_id: 't' }, names)).toMatchObject({
    path: '/v2/acme/move-to-team',
    body: '{"acme_id":"a","target_team_id":"t"}',
  });
  expect(request('set-plan', { id: 'a', plan_name: 'msgsvc_fixed_1m' }, names)).toMatchObject({
    path: '/v2/acme/set-plan/a',
    body: '{"plan_name":"acme_fixed_1m"}',
  });
});

test('a body of bytes is sent as it is, and its text is hidden', () => {
  const bytes = Buffer.from([0x68, 0x69, 0xff]);
  const { body, hidden } = request('trigger', { workflowUrl: 'https://a.example/flow', body: bytes });
  expect([body, hidden]).toEqual([bytes, ['hi\uFFFD']]);
});
