/** Parsing of responses: both forms of every open point, one bad row, and no secrets. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseFlowControl } from '#service/parse/flow-control.ts';
import { parseLogPage } from '#service/parse/log-entry.ts';
import { parsePublish } from '#service/parse/publish-result.ts';
import { Drops, MalformedAnswer } from '#service/parse/reader.ts';
import { parseSearchIndex } from '#service/parse/search-index.ts';
import { parseAccountStats, parseVectorStats } from '#service/parse/statistics.ts';
import { optionalSecondsTime, pointTime, requireTime } from '#service/parse/time.ts';
import { parseUrlGroups } from '#service/parse/url-group.ts';
import { parseDelete, parseWorkflowDlqPage } from '#service/parse/workflow-dlq.ts';
import { wireSettings } from '#service/settings.ts';
import { wireNames } from '#service/wire-names.ts';

const NAMES = wireNames(wireSettings.parse({}));
const T = Date.UTC(2026, 10, 20, 10, 0, 0);

const body = (value: unknown): Buffer => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));

function logs(...entries: readonly object[]) {
  const drops = new Drops();
  const page = parseLogPage(
    body({ logs: entries.map((entry) => ({ time: T, messageId: 'm', ...entry })) }),
    drops,
    NAMES,
  );
  return { ...page, drops };
}

function dlq(...entries: readonly object[]) {
  const drops = new Drops();
  const whole = { dlqId: 'd', workflowRunId: 'r', workflowUrl: 'u', createdAt: T };
  const page = parseWorkflowDlqPage(body({ messages: entries.map((entry) => ({ ...whole, ...entry })) }), drops, NAMES);
  return { ...page, drops };
}

describe('pages', () => {
  const page = (text: string) => parseLogPage(body(text), new Drops(), NAMES);

  test('entries are in logs or events; null is an empty list', () => {
    const entry = `{"time":${T},"messageId":"m"}`;
    expect(page(`{"logs":[${entry}]}`).rows).toHaveLength(1);
    expect(page(`{"events":[${entry}]}`).rows).toHaveLength(1);
    expect(page('{"logs":null}').rows).toEqual([]);
    expect(() => page('{"messages":[]}')).toThrow(MalformedAnswer);
    expect(() => page('{"logs":{}}')).toThrow(MalformedAnswer);
  });

  test.each([
    ['absent', '{"logs":[]}', undefined],
    ['null', '{"logs":[],"cursor":null}', undefined],
    ['empty', '{"logs":[],"cursor":""}', undefined],
    ['text', '{"logs":[],"cursor":"a b"}', 'a b'],
    ['a number', '{"logs":[],"cursor":17}', '17'],
    ['a number beyond 2^53', '{"cursor":9007199254740993123,"logs":[]}', '9007199254740993123'],
    ['0', '{"logs":[],"cursor":0}', '0'],
    [
      'a number, with others of that name inside',
      `{"logs":[{"time":${T},"messageId":"m","header":{"cursor":5},"body":"{\\"cursor\\":6}"}],"cursor":9007199254740993}`,
      '9007199254740993',
    ],
  ])('a cursor that is %s', (_what, text, cursor) => {
    expect(page(text).cursor).toBe(cursor);
  });

  test('a cursor of another kind is malformed', () => {
    expect(() => page('{"logs":[],"cursor":{}}')).toThrow(MalformedAnswer);
    expect(() => page('{"logs":[],"cursor":true}')).toThrow(MalformedAnswer);
  });

  test('one bad row is dropped and counted; the first is described without its content', () => {
    const { rows, drops } = logs({ messageId: 'a' }, { time: 'canary' }, { messageId: 7 }, { messageId: 'b' });
    expect(rows.map((row) => row.messageId)).toEqual(['a', 'b']);
    expect(drops.count).toBe(2);
    expect(drops.example).toBe('logs[1].time: not a number');
    const others = parseLogPage(body({ logs: [null, 1, 'x', []] }), drops, NAMES);
    expect(others.rows).toEqual([]);
    expect(drops.count).toBe(6);
  });

  test('no response can break it, except by being malformed', () => {
    const parsers: readonly ((answer: Buffer, drops: Drops) => unknown)[] = [
      (answer, drops) => parseLogPage(answer, drops, NAMES),
      (answer, drops) => parseWorkflowDlqPage(answer, drops, NAMES),
      (answer, drops) => parseAccountStats(answer, drops, NAMES),
      (answer, drops) => parseVectorStats(answer, drops, { names: NAMES, index: 'i' }),
      (answer, drops) => parseSearchIndex(answer, drops, { names: NAMES }),
      parseUrlGroups,
      parseFlowControl,
      parsePublish,
      parseDelete,
    ];
    const key = fc.constantFrom(
      'logs',
      'messages',
      'cursor',
      'time',
      'messageId',
      'header',
      'labels',
      'label',
      'state',
      'x',
      'y',
      'data_points',
      'daily_used',
      'daily_msgsvc_messages',
      'endpoints',
      'name',
      'url',
      'failureCallbackInfo',
      'token',
      'id',
      'deleted',
    );
    const json = fc.letrec<{ node: unknown }>((tie) => ({
      node: fc.oneof(
        { depthSize: 'medium' },
        fc.constantFrom<unknown>(null, true, '', 'x', 0, -1, 1.5, T, 1e300),
        fc.array(tie('node'), { maxLength: 4 }),
        fc.dictionary(key, tie('node'), { maxKeys: 5 }),
      ),
    })).node;
    fc.assert(
      fc.property(json, (value) => {
        for (const parse of parsers) {
          try {
            parse(body(JSON.stringify(value)), new Drops());
          } catch (error) {
            expect(error).toBeInstanceOf(MalformedAnswer);
          }
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('times', () => {
  test('the magnitude determines the unit', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1_420_070_400, max: 4_102_444_799 }), (seconds) => {
        for (const scale of [1, 1e3, 1e6]) expect(requireTime({ t: seconds * scale }, 't')).toBe(seconds * 1_000);
        // Nanoseconds exceed the exact range of a number, by less than a millisecond.
        expect(Math.abs(requireTime({ t: seconds * 1e9 }, 't') - seconds * 1_000)).toBeLessThanOrEqual(1);
      }),
    );
    expect(requireTime({ t: String(T) }, 't')).toBe(T);
  });

  test.each([1, -T, 1e8, 1_420_070_399, 4_102_444_801, 1_420_070_399_999, 1e22, Number.NaN, 'soon', {}])(
    '%j is rejected',
    (value) => {
      expect(() => requireTime({ t: value }, 't')).toThrow(MalformedAnswer);
    },
  );

  test('a known unit is not guessed', () => {
    expect(optionalSecondsTime({ t: T / 1_000 }, 't')).toBe(T);
    expect(optionalSecondsTime({ t: 0 }, 't')).toBeUndefined();
    expect(() => optionalSecondsTime({ t: T }, 't')).toThrow(MalformedAnswer);
  });

  test('x of a point, with any number of digits', () => {
    const moment = fc.integer({ min: 1_420_070_400_000, max: 4_102_444_799_999 });
    fc.assert(
      fc.property(moment, fc.integer({ min: 0, max: 9 }), (at, digits) => {
        const iso = new Date(at).toISOString();
        const fraction = `${iso.slice(20, 23)}987654`.slice(0, digits);
        const x = `${iso.slice(0, 10)} ${iso.slice(11, 19)}${digits === 0 ? '' : `.${fraction}`} +0000 UTC`;
        const kept = 10 ** Math.max(0, 3 - digits);
        expect(pointTime({ x })).toBe(Math.floor(at / kept) * kept);
      }),
    );
  });

  test.each([
    '2026-13-01 00:00:00 +0000 UTC',
    '2026-02-29 00:00:00 +0000 UTC',
    '2026-01-01 24:00:00 +0000 UTC',
    '2026-01-01 00:60:00 +0000 UTC',
    '2026-01-01T00:00:00Z',
    '2026-01-01 00:00:00 +0100 CET',
    '2026-01-01 00:00:00.1234567890 +0000 UTC',
    '0001-01-01 00:00:00 +0000 UTC',
    T,
    undefined,
  ])('%j is rejected as x', (x) => {
    expect(() => pointTime({ x })).toThrow(MalformedAnswer);
  });
});

describe('log entries', () => {
  test('a state, in either spelling; an unknown one costs the row', () => {
    const { rows, drops } = logs({ state: 'CANCELED' }, { state: 'FAILED' }, {}, { state: '' }, { state: 'PAUSED' });
    expect(rows.map((row) => row.state)).toEqual(['CANCELLED', 'FAILED', undefined, undefined]);
    expect(drops.example).toBe('logs[4].state: not a known state');
  });

  test('labels are the union of label and labels', () => {
    const { rows, drops } = logs(
      { label: 'a', labels: ['b', 'a'] },
      { label: 'a, b' },
      { labels: [] },
      { label: null, labels: null },
      { labels: [1] },
      { label: 'alpha, beta', labels: ['alpha', ' beta', ' ', 'gamma ,alpha'] },
    );
    expect(rows.map((row) => row.labels)).toEqual([['a', 'b'], ['a', 'b'], [], [], ['alpha', 'beta', 'gamma']]);
    expect(drops.count).toBe(1);
  });

  test.each([
    ['as it is', { traceparent: 't', 'Svc-Flow-Control-Key': 'k', 'Svc-Workflow-RunId': 'r' }],
    ['in lists', { Traceparent: ['t', 'x'], 'Svc-Flow-Control-Key': ['k'], 'Svc-Workflow-RunId': ['r'] }],
    [
      'forwarded',
      { 'SVC-FORWARD-TRACEPARENT': 't', 'svc-forward-svc-flow-control-key': 'k', 'svc-workflow-runid': 'r' },
    ],
    [
      'both: the producer’s counts, whatever the order',
      { 'Svc-Forward-Traceparent': 't', traceparent: 'x', 'Svc-Flow-Control-Key': 'k', 'Svc-Workflow-RunId': 'r' },
    ],
    [
      'redacted values are no values',
      {
        traceparent: 't',
        'Svc-Forward-Traceparent': 'REDACTED:0a',
        'Svc-Flow-Control-Key': 'k',
        'Svc-Workflow-RunId': 'r',
      },
    ],
  ])('trace, flow key and run id come from the header: %s', (_what, header) => {
    expect(logs({ header }).rows[0]).toMatchObject({ traceparent: 't', flowControlKey: 'k', workflowRunId: 'r' });
  });

  test.each([
    [{ 'Svc-Delay': ['30s'] }, 'delay'],
    [{ 'svc-not-before': '1777896000' }, 'not_before'],
    [{ 'Svc-Delay': '30s', 'Svc-Not-Before': '1777896000' }, 'not_before'],
    [{ Delay: '30s', 'Not-Before': '1777896000', 'Svc-Callback-Delay': '5s' }, undefined],
  ])('the reason of a delayed first attempt comes from the header: %j', (header, postponedBy) => {
    expect(logs({ header }).rows[0]?.postponedBy).toBe(postponedBy);
  });

  test('a header of another kind counts as absent', () => {
    for (const header of [null, 'x', [], { traceparent: 1 }, { traceparent: [] }]) {
      expect(logs({ header }).rows[0]).toEqual({ time: T, messageId: 'm', labels: [] });
    }
  });

  test.each([
    ['headers of the response', { 'Content-Type': ['text/plain'] }, true],
    ['no headers', {}, undefined],
    ['another type', 'text/plain', undefined],
    ['nothing', undefined, undefined],
  ])('a log entry with %s has a response: %s', (_what, responseHeaders, hasResponse) => {
    expect(logs({ responseStatus: 200, responseHeaders }).rows[0]?.hasResponse).toBe(hasResponse);
  });

  test('a response status of 0 and empty texts are absent', () => {
    expect(logs({ responseStatus: 0, error: '', url: '', nextDeliveryTime: 0, maxRetries: 0 }).rows[0]).toEqual({
      time: T,
      messageId: 'm',
      labels: [],
      maxRetries: 0,
    });
  });
});

describe('workflow DLQ entries', () => {
  test('the failure function is in either place, in either spelling', () => {
    const { rows } = dlq(
      { failureFunctionState: 'CALLBACK_SUCCESS' },
      { failureCallbackInfo: { state: 'CALLBACK_INPROGRESS' } },
      { failureCallbackInfo: { state: 'CALLBACK_CANCELLED' } },
      {},
      { failureFunctionState: '', failureCallbackInfo: null },
    );
    expect(rows.map((row) => row.failureFunctionState)).toEqual([
      'CALLBACK_SUCCESS',
      'CALLBACK_INPROGRESS',
      'CALLBACK_CANCELED',
      undefined,
      undefined,
    ]);
  });

  test('one that cannot be parsed costs the row: absent would mean that none ran', () => {
    const { rows, drops } = dlq(
      { failureFunctionState: 3 },
      { failureCallbackInfo: 'x' },
      { failureCallbackInfo: { state: {} } },
    );
    expect(rows).toEqual([]);
    expect(drops.count).toBe(3);
  });

  test('the response text is shortened, decoded, and absent when redacted', () => {
    const long = '\u20ac'.repeat(500);
    const { rows } = dlq(
      { responseBody: long },
      { responseBodyBase64: Buffer.from(long).toString('base64') },
      { responseBody: 'REDACTED:0a' },
      { responseBody: '', responseBodyBase64: '' },
    );
    expect(rows.map((row) => row.responseText)).toEqual([long.slice(0, 200), long.slice(0, 200), undefined, undefined]);
  });

  test('the flow key of the header is used if the field is absent', () => {
    const { rows } = dlq({ header: { 'Svc-Flow-Control-Key': ['k'] } }, { flowControlKey: 'own', header: {} });
    expect(rows.map((row) => row.flowControlKey)).toEqual(['k', 'own']);
  });
});

describe('other responses', () => {
  test('a publish returns an object, a list, or a list under messages', () => {
    const one = { messageId: 'a', deduplicated: true };
    const result = [{ messageId: 'a' }];
    expect(parsePublish(body(one))).toEqual(result);
    expect(parsePublish(body([one]))).toEqual(result);
    expect(parsePublish(body({ messages: [one] }))).toEqual(result);
    expect(parsePublish(body({ messageId: 'a' }))).toEqual(result);
    expect(parsePublish(body([]))).toEqual([]);
    for (const bad of [[one, {}], { messages: [{}] }, 'x', 1, null]) {
      expect(() => parsePublish(body(JSON.stringify(bad)))).toThrow(MalformedAnswer);
    }
  });

  test.each([{ deleted: -1 }, { deleted: 1.5 }, { deleted: null }, {}, { deleted: 'many' }])(
    '%j is not a number',
    (answer) => {
      expect(() => parseDelete(body(answer))).toThrow(MalformedAnswer);
    },
  );

  test('flow control: booleans as text, periods in seconds, parts that are not set', () => {
    expect(
      parseFlowControl(
        body({ flowControlKey: 'k', waitListSize: 0, isPaused: 'true', isPinnedRate: 'false', ratePeriodStart: 0 }),
      ),
    ).toEqual({ flowControlKey: 'k', waitListSize: 0, isPaused: true, isPinnedRate: false });
    expect(() => parseFlowControl(body({ flowControlKey: 'k' }))).toThrow(MalformedAnswer);
    expect(() => parseFlowControl(body({ flowControlKey: 'k', waitListSize: 0, isPaused: 'yes' }))).toThrow(
      MalformedAnswer,
    );
  });

  test('an endpoint without URL is dropped from its group', () => {
    const drops = new Drops();
    const groups = parseUrlGroups(
      body([
        { name: 'g', endpoints: [{ url: 'u' }, { name: 'x' }] },
        { name: 'h', endpoints: null },
      ]),
      drops,
    );
    expect(groups).toEqual([
      { name: 'g', endpoints: [{ url: 'u' }] },
      { name: 'h', endpoints: [] },
    ]);
    expect(drops.example).toBe('endpoints[1].url: missing');
  });

  test('statistics: a bad point, a bad field and an absent field are distinct', () => {
    const drops = new Drops();
    const x = '2026-11-20 10:00:00 +0000 UTC';
    const stats = parseAccountStats(
      body({ daily_used: [{ x, y: 1 }, { x: 'never', y: 2 }, { x }], daily_billings: 'none', dlq_message_count: 'x' }),
      drops,
      NAMES,
    );
    expect(stats).toEqual({ used: [{ at: T, value: 1 }] });
    expect(drops.count).toBe(4);
  });

  test.each(['18446744073709551615', '1e300', '1e999', '-1', '"-1"', '"18446744073709551615"'])(
    'statistics: an impossible amount (%s) is in no field that is counted, and is itself counted',
    (amount) => {
      const point = `[{"x":"2026-11-20 10:00:00 +0000 UTC","y":${amount}}]`;
      const one = (field: string) => `"${field}":${amount}`;
      const list = (field: string) => `"${field}":${point}`;
      const series = (field: string) => `"${field}":[{"id":"delivered","data_points":${point}}]`;
      const account = [
        ...['total_monthly_billing', 'dlq_message_count'].map(one),
        ...['daily_billings', 'daily_bandwidths', 'daily_requests'].map(list),
        ...['daily_used', 'daily_used_workflow', 'daily_bandwidth_used'].map(list),
        ...['daily_msgsvc_messages', 'daily_workflow_messages'].map(series),
      ];
      const vector = [
        ...['monthly_query_count', 'monthly_update_count', 'monthly_rerank_count', 'monthly_bandwidth_usage'].map(one),
        ...['storage_usage', 'monthly_cost'].map(one),
        list('daily_bandwidths'),
      ];
      const [ofAccount, ofVector] = [new Drops(), new Drops()];
      expect(parseAccountStats(body(`{${account.join(',')}}`), ofAccount, NAMES)).toEqual({
        dailyBillings: [],
        dailyBandwidths: [],
        dailyRequests: [],
        used: [],
        usedWorkflow: [],
        bandwidthUsed: [],
        messages: [{ id: 'delivered', points: [] }],
        workflowMessages: [{ id: 'delivered', points: [] }],
      });
      expect(ofAccount.values).toBe(account.length);
      parseVectorStats(body(`{${vector.join(',')}}`), ofVector, { names: NAMES, index: 'i' });
      expect(ofVector.values).toBe(vector.length);
    },
  );

  test('statistics: a point far above the limit of the account is invalid', () => {
    const points = [1_000_000, 1_000_001].map((y) => ({ x: '2026-11-20 10:00:00 +0000 UTC', y }));
    const drops = new Drops();
    const names = wireNames(wireSettings.parse({}), 1_000);
    expect(parseAccountStats(body({ daily_used: points }), drops, names)).toEqual({
      used: [{ at: T, value: 1_000_000 }],
    });
    expect(drops.values).toBe(1);
  });

  test.each([
    ['B', 1],
    ['kB', 1_000],
    ['KiB', 1_024],
    ['MB', 1_000_000],
    ['MiB', 1_048_576],
    ['GB', 1_000_000_000],
    ['GiB', 1_073_741_824],
  ] as const)('bandwidths by day and by point come in %s, others in bytes', (bandwidthUnit, bytes) => {
    const names = wireNames(wireSettings.parse({ bandwidthUnit }));
    const points = [{ x: '2026-11-20 10:00:00 +0000 UTC', y: 1.5 }];
    const inBytes = [{ at: T, value: 1.5 * bytes }];
    const account = { daily_bandwidths: points, daily_bandwidth_used: points, daily_used: points };
    expect(parseAccountStats(body(account), new Drops(), names)).toEqual({
      dailyBandwidths: inBytes,
      bandwidthUsed: inBytes,
      used: [{ at: T, value: 1.5 }],
    });
    const vector = { daily_bandwidths: points, monthly_bandwidth_usage: 7, storage_usage: 8, data_size: points };
    expect(parseVectorStats(body(vector), new Drops(), { names, index: 'i' })).toMatchObject({
      dailyBandwidths: inBytes,
      monthBandwidthBytes: 7,
      storageBytes: 8,
      dataSize: [{ at: T, value: 1.5 }],
    });
    const index = { id: 'i', name: 'n', type: 'payg', region: 'r', max_monthly_bandwidth: 9 };
    expect(parseSearchIndex(body(index), new Drops(), { names })).toMatchObject({ maxMonthlyBandwidth: 9 });
  });

  test('the partner flag of an index is in the field that the installation names', () => {
    const names = wireNames(wireSettings.parse({ integrationEmailField: 'acme_email' }));
    const record = { id: 'i', name: 'n', type: 'payg', region: 'r', integration_email: 'someone@example.com' };
    const read = (more: object) => parseSearchIndex(body({ ...record, ...more }), new Drops(), { names });
    expect(read({}).hasIntegration).toBeUndefined();
    expect(read({ acme_email: '' })).toMatchObject({ hasIntegration: false });
    expect(read({ acme_email: 'partner@example.com' })).toMatchObject({ hasIntegration: true });
    expect(JSON.stringify(read({ acme_email: 'partner@example.com' }))).not.toContain('@');
  });

  test('an index: -1 is unlimited only where the interface says so', () => {
    const drops = new Drops();
    const record = { id: 'i', name: 'n', type: 'payg', region: 'r', max_daily_queries: -1, max_vector_count: -1 };
    expect(parseSearchIndex(body(record), drops, { names: NAMES })).toEqual({
      index: 'i',
      name: 'n',
      plan: 'payg',
      region: 'r',
      maxDailyQueries: Infinity,
    });
    expect(drops.example).toBe('max_vector_count: not from 0 to 1000000000000');
  });

  test('secrets and bodies of the recorded responses stay in the parser', () => {
    const recorded = (name: string): Buffer => readFileSync(join(import.meta.dirname, `../fixtures/wire/${name}.json`));
    const drops = new Drops();
    const values = [
      parseLogPage(recorded('list-logs'), drops, NAMES),
      parseWorkflowDlqPage(recorded('list-workflow-dlq'), drops, NAMES),
      parseSearchIndex(recorded('get-index'), drops, { names: NAMES }),
    ];
    const text = JSON.stringify(values);
    for (const secret of [
      'forwarded-credential',
      'index-token',
      'index-read-only-token',
      'o-1207',
      'i-77',
      'try later',
    ]) {
      expect(text).not.toContain(secret);
    }
    expect(drops.count).toBe(0);
  });
});
