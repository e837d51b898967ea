/** Oversized JSON responses: rejected by their bytes, or by the memory that they would keep. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { parseLogPage } from '#service/parse/log-entry.ts';
import { Drops, MalformedAnswer } from '#service/parse/reader.ts';
import { parseUrlGroups } from '#service/parse/url-group.ts';
import { parseWorkflowDlqPage } from '#service/parse/workflow-dlq.ts';
import { wireSettings } from '#service/settings.ts';
import { wireNames } from '#service/wire-names.ts';
import { clientUnderTest, call, failureOf, json } from './client-under-test.ts';

const NAMES = wireNames(wireSettings.parse({}));
const T = Date.UTC(2026, 10, 20, 10, 0, 0);

function logs(rows: string) {
  const drops = new Drops();
  return { ...parseLogPage(Buffer.from(`{"logs":[${rows}]}`), drops, NAMES), drops };
}
const entry = (more: object = {}): string => JSON.stringify({ time: T, messageId: 'm', ...more });
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

describe('a response is malformed', () => {
  test('when a row nests too deep', () => {
    // The page has two levels of its own, the row one.
    expect(logs(`{"time":${T},"messageId":"m","header":${nested(61)}}`).rows).toHaveLength(1);
    expect(() => logs(`{"time":${T},"messageId":"m","header":${nested(62)}}`)).toThrow(MalformedAnswer);
    expect(() => logs(`{"time":${T},"messageId":"m","header":${nested(2_000_000)}}`)).toThrow(
      'it has more than 64 levels',
    );
  });

  test.each([
    ['empty lists as rows', '[],'.repeat(130_000) + '[]'],
    ['empty objects as rows', '{},'.repeat(130_000) + '{}'],
    ['numbers in one row', entry({ header: Array.from({ length: 260_000 }, () => 0) })],
    ['keys of one row', `{${Array.from({ length: 260_000 }, (_, at) => `"k${at}":0`).join(',')}}`],
  ])('when it has too many values: %s', (_what, rows) => {
    expect(() => logs(rows)).toThrow('more than 250000 values');
  });

  test('when too many rows are invalid, wherever they are', () => {
    expect(logs('[],'.repeat(19_999) + '[]').drops.count).toBe(20_000);
    expect(() => logs('[],'.repeat(20_000) + '[]')).toThrow('more than 20000 rows or fields are invalid');
    const endpoints = Buffer.from(`[{"name":"g","endpoints":[${'1,'.repeat(20_000)}1]}]`);
    expect(() => parseUrlGroups(endpoints, new Drops())).toThrow('more than 20000 rows or fields are invalid');
  });

  test('when its cursor is too long to send back', () => {
    const page = (cursor: unknown) =>
      parseLogPage(Buffer.from(`{"logs":[],"cursor":${String(cursor)}}`), new Drops(), NAMES);
    expect(page(`"${'c'.repeat(16_384)}"`).cursor).toHaveLength(16_384);
    expect(() => page(`"${'c'.repeat(16_385)}"`)).toThrow(MalformedAnswer);
    expect(() => page('1'.repeat(16_385))).toThrow(MalformedAnswer);
  });

  test('and it is counted, and its text has the reason', async () => {
    const { message, eventsOf } = await clientUnderTest({ answer: json(`{"logs":[${nested(100)}]}`) });
    const error = await failureOf(message.listLogs({}, call));
    expect(error).toMatchObject({ code: 'malformed', message: expect.stringContaining('it has more than 64 levels') });
    expect(eventsOf('api.request').at(-1)).toMatchObject({ failure: 'malformed', code: 200 });
  });
});

describe('a row', () => {
  test.each(['messageId', 'topicName', 'queueName', 'flowControlKey', 'method'])(
    'with a long %s is dropped',
    (field) => {
      expect(logs(entry({ [field]: 'x'.repeat(1_024) })).rows).toHaveLength(1);
      const { rows, drops } = logs(entry({ [field]: 'x'.repeat(1_025) }));
      expect(rows).toEqual([]);
      expect(drops).toMatchObject({ count: 1, example: `logs[0].${field}: longer than 1024 characters` });
    },
  );

  test('with a long URL or label is dropped', () => {
    for (const field of ['url', 'label']) {
      expect(logs(entry({ [field]: 'x'.repeat(16_384) })).rows).toHaveLength(1);
      expect(logs(entry({ [field]: 'x'.repeat(16_385) })).drops.count).toBe(1);
    }
    expect(logs(entry({ labels: ['x'.repeat(16_385)] })).drops.count).toBe(1);
  });

  test('with a long error text still counts', () => {
    const [row] = logs(entry({ error: 'e'.repeat(1_000_000) })).rows;
    expect(row!.error).toBe('e'.repeat(16_384));
  });

  test('omits a stored header value that is too long', () => {
    const header = { 'Svc-Flow-Control-Key': ['k'.repeat(1_025)], [`Svc-${'n'.repeat(1_000)}`]: ['v'] };
    const [row] = logs(entry({ header })).rows;
    expect(row).toMatchObject({ messageId: 'm' });
    expect(row).not.toHaveProperty('flowControlKey');
  });
});

test('of a response that ended a run, only the start stays in memory', () => {
  const answerBytes = 2_000_000;
  const collect = garbageCollector();
  const rowOf = (at: number) => {
    const responseBody = String(at).padEnd(answerBytes, 'x');
    const row = {
      dlqId: `d${at}`,
      workflowRunId: 'r',
      workflowUrl: 'u',
      createdAt: T,
      responseStatus: 500,
      responseBody,
    };
    return parseWorkflowDlqPage(Buffer.from(JSON.stringify({ messages: [row] })), new Drops(), NAMES).rows[0]!;
  };
  rowOf(0);
  collect();
  const before = process.memoryUsage().heapUsed;
  const rows = Array.from({ length: 20 }, (_, at) => rowOf(at));
  collect();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(5 * answerBytes);
  expect(rows.map(({ responseText }) => responseText?.length)).toEqual(rows.map(() => 200));
});

function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}
