/** A data folder with a million log entries and full DLQs, written by the emulator's own store. */
import { AccountBook } from '#emulator/state/account-book.ts';
import { createAccountState } from '#emulator/state/account-state.ts';
import { Compact } from '#emulator/state/compact.ts';
import { createIndexes } from '#emulator/statistics/indexes.ts';
import { orderedId } from '#emulator/state/ids.ts';
import { restoreService } from '#emulator/store/keeper.ts';
import { createLimits } from '#emulator/state/limits.ts';
import type { Message, Outcome, State } from '#emulator/state/message.ts';
import { SigningKeyRing } from '#emulator/state/signing-keys.ts';
import { createStatistics } from '#emulator/statistics/statistics.ts';
import { Store } from '#emulator/store/store.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { seededRandom } from '#foundation/platform/random.ts';

export interface Filling {
  readonly folder: string;
  readonly account: string;
  readonly token: string;
  readonly entries: number;
  /** Number of dead letters in each DLQ. */
  readonly deadLetters: number;
  readonly bodyBytes: number;
}

/** Returns the id of a message in the middle. */
export async function fillFolder(filling: Filling): Promise<string> {
  const { folder, account, token, entries, deadLetters, bodyBytes } = filling;
  const clock = systemClock;
  const random = seededRandom(1);
  const store = new Store(folder, (error) => console.error(error));
  const seeds = [{ id: account, token }];
  const accounts = new AccountBook(seeds, random);
  const limitsOf = createLimits({ enforced: false });
  const state = createAccountState(accounts.byId(account)!, {
    clock,
    limitsOf,
    logMaxEntries: Infinity,
    journalOf: store.journalOf.bind(store),
  });
  restoreService(store, {
    seeds,
    accounts,
    states: new Map([[account, state]]),
    signingKeys: new SigningKeyRing(seeds),
    indexes: createIndexes({ clock, random }),
    statistics: createStatistics(),
    admission: { messagesOfDays: () => ({}), restore: () => undefined },
    compact: new Compact(),
    now: clock.now(),
  });
  // An hour that ends now, within the retention.
  const from = clock.now() - 3_600_000;
  const middle: string[] = [];
  for (let index = 0; state.log.nextSequence < entries; index++) {
    const kind = index < 2 * deadLetters ? (index % 2 === 0 ? 'failed' : 'failedRun') : 'delivered';
    const now = from + Math.floor((state.log.nextSequence / entries) * 3_600_000);
    const message = messageOf(index, now, { account, kind, bodyBytes, id: orderedId('msg_', now, random) });
    state.messages.set(message.id, message);
    const enter = (next: State, outcome?: Outcome): void => {
      message.state = next;
      state.log.append({ time: now, state: next, message, nextDeliveryTime: undefined, outcome });
    };
    enter('CREATED');
    message.attempts = 1;
    enter('ACTIVE');
    message.lastOutcome = outcomeOf(now, kind === 'delivered');
    if (kind === 'delivered') {
      enter('DELIVERED', message.lastOutcome);
    } else {
      enter('ERROR', message.lastOutcome);
      message.dlqId = state[kind === 'failed' ? 'dlq' : 'workflowDlq'].add(message, now).dlqId;
      enter('FAILED', message.lastOutcome);
    }
    if (index === deadLetters) middle.push(message.id);
    if (index % 2_000 === 0) await store.durable();
  }
  await store.durable();
  store.close();
  return middle[0]!;
}

interface Made {
  readonly account: string;
  readonly kind: string;
  readonly id: string;
  readonly bodyBytes: number;
}

function messageOf(index: number, now: number, { account, kind, id, bodyBytes }: Made): Message {
  return {
    id,
    accountId: account,
    url: `https://api.example/hooks/${index % 40}`,
    createdAt: now,
    notBefore: now,
    ...(index % 10 === 0 && { topicName: `group-${index % 4}`, endpointName: 'one' }),
    ...(kind === 'failedRun' && { workflow: { runId: `wfr_${index}`, createdAt: now } }),
    state: 'CREATED',
    attempts: 0,
    cancelRequested: false,
    delivery: {
      method: 'POST',
      body: Buffer.from(JSON.stringify({ order: index, items: textOf(index, bodyBytes - 40) })),
      headers: [
        ['Content-Type', 'application/json'],
        ['X-Request-Id', `request-${index}`],
      ],
      timeoutMs: 7_200_000,
      maxRetries: 0,
      labels: [`kind-${index % 20}`, `order-${index}`],
      callerIp: '127.0.0.1',
    },
  };
}

function outcomeOf(now: number, delivered: boolean): Outcome {
  const status = delivered ? 200 : 500;
  const headers = {
    date: new Date(now).toUTCString(),
    connection: 'keep-alive',
    'keep-alive': 'timeout=5',
    'content-length': '2',
  };
  return {
    delivered,
    status,
    headers,
    body: Buffer.from('ok'),
    ...(!delivered && { error: 'destination answered 500' }),
  };
}

/** Returns a text that differs for each message, so that sharing equal ones saves nothing. */
function textOf(index: number, length: number): string {
  const seed = Math.imul(index + 1, 2_654_435_761) >>> 0;
  return seed
    .toString(36)
    .padStart(8, '0')
    .repeat(Math.ceil(length / 8))
    .slice(0, length);
}
