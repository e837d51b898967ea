/** A data folder with a million log entries and full DLQs, written by the emulator's own store. */
import { AccountBook } from '#emulator/state/account-book.ts';
import { createAccountState } from '#emulator/state/account-state.ts';
import { createIndexes } from '#emulator/statistics/indexes.ts';
import { restoreService } from '#emulator/store/keeper.ts';
import { createLimits } from '#emulator/state/limits.ts';
import { SigningKeyRing } from '#emulator/state/signing-keys.ts';
import { createStatistics } from '#emulator/statistics/statistics.ts';
import { Store } from '#emulator/store/store.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { addMessage } from './filled-messages.ts';

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
    now: clock.now(),
  });
  // An hour that ends now, within the retention.
  const from = clock.now() - 3_600_000;
  const middle: string[] = [];
  for (let index = 0; state.log.nextSequence < entries; index++) {
    const kind = index < 2 * deadLetters ? (index % 2 === 0 ? 'failed' : 'failedRun') : 'delivered';
    const now = from + Math.floor((state.log.nextSequence / entries) * 3_600_000);
    const id = addMessage(state, { index, now, kind, bodyBytes, random });
    if (index === deadLetters) middle.push(id);
    if (index % 2_000 === 0) await store.durable();
  }
  await store.durable();
  store.close();
  return middle[0]!;
}
