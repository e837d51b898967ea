/** Held memory is bounded by the retention, whatever amount passes through. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { AccountBook } from '#emulator/state/account-book.ts';
import { createAccountState } from '#emulator/state/account-state.ts';
import { Compact } from '#emulator/state/compact.ts';
import { createLimits } from '#emulator/state/limits.ts';
import type { Message, State } from '#emulator/state/message.ts';
import { createMessage } from '#emulator/delivery/new-message.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { seededRandom } from '#foundation/platform/random.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Returns the held bytes, after a complete garbage collection. */
function heldBytes(): number {
  // Each collection first sweeps the garbage of the previous one.
  for (let times = 0; times < 3; times++) collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

test('memory stays constant while many times the retention passes, though some messages wait and some are dead', async () => {
  const clock = new ManualClock(1_000_000);
  const random = seededRandom(1);
  const compact = new Compact();
  const accounts = new AccountBook([{ id: 'acc-1', token: 't' }], random);
  const retention = { logRetentionMs: 2_000, dlqRetentionMs: 40_000 };
  const state = createAccountState(accounts.byId('acc-1')!, {
    clock,
    limitsOf: createLimits({ enforced: false, ...retention }),
    logMaxEntries: 1e9,
  });
  const waiting: Message[] = [];
  let passed = 0;
  const pass = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index++) {
      const now = clock.now();
      const n = passed++;
      const message = createMessage(
        {
          url: `http://host/${n}`,
          delivery: {
            method: 'POST',
            body: compact.body(Buffer.alloc(1_000, n)),
            headers: [['X-Request-Id', `request-${n}`]],
            timeoutMs: 1_000,
            maxRetries: 0,
            labels: [`order-${n}`],
            callerIp: '127.0.0.1',
          },
        },
        { accountId: 'acc-1', now, random },
      );
      state.messages.set(message.id, message);
      const enter = (next: State): void => {
        message.state = next;
        state.log.append({ time: now, state: next, message, nextDeliveryTime: undefined, outcome: undefined });
      };
      enter('CREATED');
      await clock.advance(1);
      // One in a hundred waits for longer than the log's retention, another one is dead for longer.
      if (n % 100 === 0) waiting.push(message);
      if (n % 100 === 0) continue;
      enter(n % 100 === 1 ? 'FAILED' : 'DELIVERED');
      if (n % 100 === 1) message.dlqId = state.dlq.add(message, now).dlqId;
      compact.shelve(message);
    }
    // These messages end. Later messages release them.
    for (const message of waiting.splice(0, waiting.length - 20)) {
      message.state = 'CANCELLED';
      state.log.append({
        time: clock.now(),
        state: 'CANCELLED',
        message,
        nextDeliveryTime: undefined,
        outcome: undefined,
      });
      compact.shelve(message);
    }
  };

  await pass(6_000);
  const before = heldBytes();
  await pass(24_000);
  const after = heldBytes();
  // 28 MB passed. The DLQ holds 300 dead letters of 1 kB, the log two seconds.
  expect((after - before) / 1e6).toBeLessThan(5);
  expect(state.log.size).toBeLessThan(6_000);
  expect(state.messages.size).toBeLessThan(3_000);
  expect(state.dlq.size).toBe(300);
  await clock.advance(100_000);
  state.dlq.trim(clock.now());
  expect(state.dlq.size).toBe(0);
});
