/** Compares filters of the log with a model that checks every entry, while entries are added and dropped. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MessageLog, type LogEntry, type LogFilter } from '#emulator/state/log.ts';
import type { Message, State } from '#emulator/state/message.ts';

const STATES: readonly State[] = ['CREATED', 'ACTIVE', 'RETRY', 'ERROR', 'DELIVERED', 'FAILED', 'CANCELLED'];
const LABELS = ['a', 'b', 'c', 'd'];

const word = (text: string, kinds: number) =>
  fc.option(
    fc.nat(kinds).map((n) => `${text}${n}`),
    { nil: undefined },
  );

/** Ids that differ, and ids with equal ends. */
const anyMessage = fc
  .record({
    id: fc.constantFrom('msg_1', 'msg_2', 'x-abcdefgh', 'y-abcdefgh'),
    url: fc.nat(3).map((n) => `http://host/${n}`),
    topicName: word('t', 1),
    scheduleId: word('s', 1),
    queueName: word('q', 1),
    labels: fc.subarray(LABELS.slice(0, 3)),
    state: fc.constantFrom(...STATES),
  })
  .map(({ labels, ...rest }) => ({ ...rest, delivery: { labels } }) as unknown as Message);

const some = (values: readonly string[]) =>
  fc.subarray([...values], { minLength: 1 }).map((chosen): ReadonlySet<string> => new Set(chosen));

/** Some values never occur. Most filters have one or two parts, so that they often match. */
const anyFilter = fc
  .record({
    state: some(STATES),
    url: fc.nat(4).map((n) => new Set([`http://host/${n}`])),
    topicName: fc.nat(2).map((n) => new Set([`t${n}`])),
    scheduleId: fc.nat(2).map((n) => new Set([`s${n}`])),
    queueName: fc.nat(2).map((n) => new Set([`q${n}`])),
    label: some(LABELS),
    latest: fc.constant(true),
    present: some(STATES),
  })
  .chain((whole) =>
    fc
      .subarray(Object.keys(whole) as (keyof typeof whole)[], { maxLength: 3 })
      .map((names): LogFilter => Object.fromEntries(names.map((name) => [name, whole[name]]))),
  );

function matches({ message, state, sequence }: LogEntry, filter: LogFilter): boolean {
  return (
    (filter.latest === undefined || message.lastEntry === sequence) &&
    (filter.present?.has(message.state) ?? true) &&
    (filter.messageId === undefined || message.id === filter.messageId) &&
    (filter.state?.has(state) ?? true) &&
    (['url', 'topicName', 'scheduleId', 'queueName'] as const).every(
      (field) => filter[field]?.has(message[field] ?? '') ?? true,
    ) &&
    (filter.label === undefined || message.delivery.labels.some((label) => filter.label!.has(label)))
  );
}

describe('filters of the log', () => {
  test.each(['newest', 'oldest'] as const)('match a check of every entry, %s first', (order) => {
    const script = fc.record({
      messages: fc.array(anyMessage, { minLength: 1, maxLength: 6 }),
      filter: anyFilter,
      byMessage: fc.boolean(),
      initial: fc.nat(2_500),
      maxEntries: fc.integer({ min: 600, max: 3_000 }),
      window: fc.option(fc.tuple(fc.nat(3_000), fc.nat(3_000)), { nil: undefined }),
      turns: fc.array(
        fc.record({
          count: fc.integer({ min: 1, max: 400 }),
          added: fc.nat(700),
          shift: fc.integer({ min: -40, max: 40 }),
        }),
        { minLength: 1, maxLength: 8 },
      ),
    });
    fc.assert(
      fc.property(script, ({ messages, filter: given, byMessage, initial, maxEntries, window, turns }) => {
        const model: LogEntry[] = [];
        const log = new MessageLog({
          retentionMs: () => 2_000,
          maxEntries,
          onDropped: (entry) => {
            expect(entry).toEqual(model[0]);
            model.shift();
          },
        });
        let sequence = 0;
        let time = 1_000;
        const append = (count: number): void => {
          for (let index = 0; index < count; index++) {
            const state = STATES[(sequence * 5) % STATES.length]!;
            const message = messages[(sequence * 3) % messages.length]!;
            const entry = { time: time++, state, message, nextDeliveryTime: undefined, outcome: undefined };
            log.append(entry);
            model.push({ ...entry, sequence: sequence++ });
          }
        };
        append(initial);
        const filter: LogFilter = { ...given, messageId: byMessage ? messages[0]!.id : undefined };
        const { from, to } = { from: 1_000 + (window?.[0] ?? -Infinity), to: 1_000 + (window?.[1] ?? Infinity) };
        const seen: LogEntry[] = [];
        let after: number | undefined;
        for (let turn = 0; turn === 0 || after !== undefined; turn++) {
          const { count, added, shift } = turns[turn % turns.length]!;
          const page = log.page({ from, to, order, after }, filter, count);
          const beyond = (order === 'newest' ? model.toReversed() : model).filter(
            (entry) =>
              (after === undefined || (order === 'newest' ? entry.sequence < after : entry.sequence > after)) &&
              entry.time >= from &&
              entry.time <= to &&
              matches(entry, filter),
          );
          expect(page.rows).toEqual(beyond.slice(0, count));
          expect(page.last?.sequence).toBe(beyond.length > count ? page.rows.at(-1)!.sequence : undefined);
          seen.push(...page.rows);
          after = page.last?.sequence;
          time += shift;
          if (turn < turns.length) append(added);
        }
        expect(new Set(seen.map((entry) => entry.sequence)).size).toBe(seen.length);
      }),
      { numRuns: 60 },
    );
  });
});
