/**
 * Compares the filters of both DLQs, as query parameters, with a model that checks every dead letter during changes.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { messageDlqFilter, selectPage, workflowDlqFilter } from '#emulator/http/dead-letter-selection.ts';
import { DeadLetterQueue } from '#emulator/state/dlq.ts';
import type { DeadMessage, Message } from '#emulator/state/message.ts';
import type { Filter, Window } from '#emulator/state/search.ts';
import { QUERY_PARAMETERS } from '#emulator/http/query-parameters.ts';
import { Query } from '#emulator/http/query.ts';
import { DEFAULT_SWITCHES } from '#emulator/state/switches.ts';

const word = (text: string, kinds: number) =>
  fc.option(
    fc.nat(kinds).map((n) => `${text}${n}`),
    { nil: undefined },
  );

/** Ids that differ, and ids with equal ends. */
const anyMessage = fc
  .record({
    id: fc.constantFrom('msg_1', 'msg_2', 'x-abcdefgh', 'y-abcdefgh'),
    url: fc.nat(2).map((n) => `http://host/${n}`),
    topicName: word('t', 1),
    scheduleId: word('s', 1),
    queueName: word('q', 1),
    status: fc.constantFrom(undefined, 404, 500),
    callerIp: fc.constantFrom('10.0.0.1', '10.0.0.2'),
    key: word('k', 1),
    labels: fc.subarray(['a', 'b', 'c']),
    runId: fc.constantFrom('1', '2', 'x-abcdefgh', 'y-abcdefgh'),
    createdAt: fc.nat(3),
    notice: fc.constantFrom(undefined, 'ACTIVE', 'DELIVERED', 'FAILED'),
  })
  .map(
    ({ status, callerIp, key, labels, runId, createdAt, notice, ...rest }) =>
      ({
        ...rest,
        delivery: { labels, callerIp, ...(key !== undefined && { flowControl: { key } }) },
        lastOutcome: { status },
        workflow: { runId, createdAt },
        ...(notice !== undefined && { failureNotice: { state: notice } }),
      }) as unknown as Message,
  );

const FUNCTION_STATES: Readonly<Record<string, string>> = {
  ACTIVE: 'CALLBACK_INPROGRESS',
  DELIVERED: 'CALLBACK_SUCCESS',
  CANCELLED: 'CALLBACK_CANCELED',
  FAILED: 'CALLBACK_FAIL',
};

/** Values of a dead letter for each parameter. */
const VALUES: Readonly<Record<string, (message: Message) => readonly (string | undefined)[]>> = {
  messageId: ({ id }) => [id],
  url: ({ url }) => [url],
  workflowUrl: ({ url }) => [url],
  topicName: ({ topicName }) => [topicName],
  scheduleId: ({ scheduleId }) => [scheduleId],
  queueName: ({ queueName }) => [queueName],
  responseStatus: ({ lastOutcome }) => [String(lastOutcome?.status ?? 0)],
  workflowRunId: ({ workflow }) => [workflow?.runId],
  workflowCreatedAt: ({ workflow }) => [String(workflow?.createdAt)],
  failureFunctionState: ({ failureNotice }) => [failureNotice && FUNCTION_STATES[failureNotice.state]],
  callerIp: ({ delivery }) => [delivery.callerIp],
  flowControlKey: ({ delivery }) => [delivery.flowControl?.key],
  label: ({ delivery }) => delivery.labels,
};

const some = (...values: string[]) => fc.subarray(values, { minLength: 1, maxLength: 2 });
const one = (...values: string[]) => fc.constantFrom(...values).map((value) => [value]);
const urls = some('http://host/0', 'http://host/1', 'http://host/9');
const shared = {
  label: some('a', 'b', 'c', 'none'),
  callerIp: some('10.0.0.1', '10.9.9.9'),
  flowControlKey: some('k0', 'k1', 'k9'),
};
const QUEUES = {
  'delete-dlq': {
    filterOf: messageDlqFilter,
    parameters: {
      ...shared,
      messageId: one('msg_1', 'x-abcdefgh', 'z-abcdefgh'),
      url: urls,
      topicName: some('t0', 't1', 't9'),
      scheduleId: some('s0', 's9'),
      queueName: some('q0', 'q1'),
      responseStatus: some('0', '404', '500', '503'),
    },
  },
  'list-workflow-dlq': {
    filterOf: workflowDlqFilter,
    parameters: {
      ...shared,
      workflowUrl: urls,
      workflowRunId: one('1', 'x-abcdefgh', 'z-abcdefgh'),
      workflowCreatedAt: one('0', '1', '9'),
      failureFunctionState: some('CALLBACK_INPROGRESS', 'CALLBACK_SUCCESS', 'CALLBACK_FAIL', 'CALLBACK_CANCELED'),
    },
  },
} as const;

type Given = Readonly<Record<string, readonly string[] | undefined>>;

function queryOf(operation: keyof typeof QUEUES, given: Given, separator: ',' | '&'): Query {
  const params = new URLSearchParams();
  for (const [name, values] of Object.entries(given)) {
    for (const value of separator === ',' ? [(values ?? []).join(',')] : (values ?? [])) params.append(name, value);
  }
  return new Query(params, QUERY_PARAMETERS[operation], DEFAULT_SWITCHES);
}

function queueOf(limits = { dlqRetentionMs: 1e12, dlqSize: 1e9 }): DeadLetterQueue {
  return new DeadLetterQueue(() => limits, 'dlq');
}

describe.each(Object.keys(QUEUES) as (keyof typeof QUEUES)[])('%s', (operation) => {
  const { filterOf, parameters } = QUEUES[operation];
  const filter = fc
    .record(parameters as Readonly<Record<string, fc.Arbitrary<readonly string[]>>>)
    .chain((whole) =>
      fc
        .subarray(Object.keys(whole), { maxLength: 3 })
        .map((names): Given => Object.fromEntries(names.map((name) => [name, whole[name]]))),
    );
  const script = fc.record({
    filter,
    separator: fc.constantFrom(',' as const, '&' as const),
    window: fc.option(fc.tuple(fc.nat(300), fc.nat(300)), { nil: undefined }),
    order: fc.constantFrom('oldest' as const, 'newest' as const),
    initial: fc.array(anyMessage, { maxLength: 300 }),
    copies: fc.integer({ min: 1, max: 4 }),
    turns: fc.array(
      fc.record({
        count: fc.integer({ min: 1, max: 60 }),
        added: fc.array(anyMessage, { maxLength: 20 }),
        removed: fc.array(fc.nat(1_200)),
        noticed: fc.array(fc.tuple(fc.nat(1_200), fc.constantFrom('ACTIVE', 'DELIVERED', 'CANCELLED')), {
          maxLength: 9,
        }),
      }),
      { minLength: 1, maxLength: 6 },
    ),
    dlqSize: fc.integer({ min: 100, max: 1_200 }),
  });

  test('pages match a check of every dead letter', () => {
    fc.assert(
      fc.property(script, ({ filter: given, separator, window, order, initial, copies, turns, dlqSize }) => {
        const queue = queueOf({ dlqRetentionMs: 1e12, dlqSize });
        let model: DeadMessage[] = [];
        let now = 0;
        const add = (messages: readonly Message[]): void => {
          // Messages are added separately: the same one may occur twice.
          for (const message of messages) {
            const notice = message.failureNotice && { ...message.failureNotice };
            const own = { ...message, ...(notice && { failureNotice: notice }) };
            const deadLetter = queue.add(own, now++);
            own.dlqId = deadLetter.dlqId;
            model.push(deadLetter);
          }
          model = model.slice(-dlqSize);
        };
        for (let copy = 0; copy < copies; copy++) add(initial);
        const all = { ...given, ...(window && { fromDate: [String(window[0])], toDate: [String(window[1])] }) };
        const fits = ({ message, failedAt }: DeadMessage): boolean =>
          (window === undefined || (failedAt >= window[0] && failedAt <= window[1])) &&
          Object.entries(given).every(([name, values]) =>
            VALUES[name]!(message).some((value) => value !== undefined && values!.includes(value)),
          );
        let after: number | undefined;
        for (let turn = 0; turn === 0 || after !== undefined; turn++) {
          const { count, added, removed, noticed } = turns[turn % turns.length]!;
          const query = queryOf(operation, all, separator);
          const window = { ...query.window(), order, after };
          const page = selectPage(queue, { listing: 'dlq', filter: filterOf(query), window, count });
          const beyond = (order === 'newest' ? model.toReversed() : model).filter(
            (deadLetter) =>
              (after === undefined ||
                (order === 'newest' ? deadLetter.sequence < after : deadLetter.sequence > after)) &&
              fits(deadLetter),
          );
          expect(page.deadLetters).toEqual(beyond.slice(0, count));
          expect(page.cursor !== undefined).toBe(beyond.length > count);
          expect([...queue.deadLetters()]).toEqual(model);
          expect(queue.size).toBe(model.length);
          after = page.cursor === undefined ? undefined : page.deadLetters.at(-1)!.sequence;
          if (turn >= turns.length) continue;
          for (const index of removed) {
            const [deadLetter] = model.splice(index, 1);
            if (deadLetter === undefined) continue;
            expect(queue.get(deadLetter.dlqId)).toEqual(deadLetter);
            expect(queue.remove(deadLetter.dlqId)).toBe(true);
            expect(queue.remove(deadLetter.dlqId)).toBe(false);
          }
          // The call of a failure function begins or continues, unless it has ended.
          for (const [index, state] of noticed) {
            const message = model[index]?.message;
            if (message === undefined) continue;
            const notice = message.failureNotice;
            if (notice?.state === 'ACTIVE') notice.state = state as 'ACTIVE';
            if (notice !== undefined) continue;
            message.failureNotice = { state } as Message;
          }
          add(added);
        }
      }),
      { numRuns: 150 },
    );
  });
});

/** Returns the positions of the dead letters that match. */
function found(queue: DeadLetterQueue, filter: Filter, more: Partial<Window> = {}) {
  const window = { from: -Infinity, to: Infinity, order: 'oldest' as const, ...more };
  return queue.page(window, filter, 1_000).rows.map(({ sequence }) => sequence);
}

describe('a queue', () => {
  const message = (n: number, more: object = {}): Message =>
    ({
      id: `m${n}`,
      url: `http://${n}`,
      delivery: { labels: [`l${n}`], callerIp: `10.0.0.${n}`, flowControl: { key: `k${n}` } },
      ...more,
    }) as unknown as Message;

  test('finds dead letters by their ids alone', () => {
    const queue = queueOf();
    const { dlqId } = queue.add(message(1), 5);
    expect(dlqId).toBe('5-0');
    for (const id of ['', '0', '5-', '-0', '6-0', '5-1', '5-64', '5-00', '5-99999999999999999999', 'x-0']) {
      expect([id, queue.get(id)]).toEqual([id, undefined]);
      expect(queue.remove(id)).toBe(false);
    }
    expect(queue.size).toBe(1);
  });

  test('continues after a restart, with the gaps of the earlier process', () => {
    const queue = queueOf();
    const deadLetters = [3, 70, 5_000_000].map((sequence) => ({
      sequence,
      message: message(sequence),
      failedAt: 1,
    }));
    queue.restore(deadLetters, 9_000_000);
    expect(queue.add(message(4), 2).sequence).toBe(9_000_000);
    expect([...queue.deadLetters()].map(({ sequence }) => sequence)).toEqual([3, 70, 5_000_000, 9_000_000]);
    expect(found(queue, { label: new Set(['l70']) })).toEqual([70]);
    expect(queue.remove('1-70')).toBe(true);
    expect(found(queue, {}, { after: 3 })).toEqual([5_000_000, 9_000_000]);
    expect(found(queue, {}, { order: 'newest', after: 9_000_000 })).toEqual([5_000_000, 3]);
  });

  test('removes the oldest ones of too many, and expired ones', () => {
    const queue = queueOf({ dlqRetentionMs: 100, dlqSize: 50 });
    for (let n = 0; n < 120; n++) queue.add(message(n), 1);
    expect([...queue.deadLetters()].map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: 50 }, (_, index) => 70 + index),
    );
    queue.trim(1e6);
    expect(queue.size).toBe(0);
  });
});
