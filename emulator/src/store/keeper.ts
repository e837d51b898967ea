/**
 * Stores one service on disk: restores the state of an earlier process, then reports every change to the store. Small
 * parts (accounts, keys, indexes, positions) are compared whole at each commit.
 */
import { errorMessage } from '#foundation/platform/error-message.ts';
import type { AccountBook, AccountSeed } from '../state/account-book.ts';
import type { AccountState } from '../state/account-state.ts';
import type { Account } from '../state/account.ts';
import type { Admission, MessagesOfDays } from '../http/admission.ts';
import { collectGarbage } from './collect-garbage.ts';
import type { Indexes, IndexesSnapshot } from '../statistics/indexes.ts';
import type { PlanBilling } from '../statistics/plan-billing.ts';
import { positionsOf, restoreAccount, restoreStatistics, type Positions, type Unfinished } from './restore.ts';
import { ApiError } from '../state/api-error.ts';
import type { ReceivedRequest, ApiResponse, Route } from '../http/route.ts';
import type { SigningKeyRing, AccountSigningKeys } from '../state/signing-keys.ts';
import type { Statistics } from '../statistics/statistics.ts';
import { DataFolderError } from './store-file.ts';
import type { Store, StoredDocument } from './store.ts';

export interface Kept {
  /** Accounts as given at this start. */
  readonly seeds: readonly AccountSeed[];
  readonly accounts: AccountBook;
  readonly states: ReadonlyMap<string, AccountState>;
  readonly signingKeys: SigningKeyRing;
  readonly indexes: Indexes;
  /** Statistics whose own `record` is called during the restore. */
  readonly statistics: Statistics;
  readonly admission: Pick<Admission, 'messagesOfDays' | 'restore'>;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** Number of entries whose restore leaves enough garbage to justify half a second of collection at the start. */
const MANY_ENTRIES = 100_000;

interface StoredAccount {
  /** Settings that the account was started with. Other settings at the next start are an intended change. */
  readonly given: Given;
  readonly account: Account;
  readonly signingKeys: AccountSigningKeys;
}

type Given = Partial<Omit<AccountSeed, 'signingKeys'>> & {
  readonly current?: string | undefined;
  readonly next?: string | undefined;
};

function givenOf({ signingKeys, ...seed }: AccountSeed): Given {
  return { ...seed, current: signingKeys?.current, next: signingKeys?.next };
}

/** Returns the settings of this start that are new or changed. */
function givenAnew(given: Given, before: Given): Given {
  const differs = ([name, value]: readonly [string, unknown]): boolean =>
    value !== undefined && name !== 'id' && value !== before[name as keyof Given];
  return Object.fromEntries(Object.entries(given).filter(differs));
}

/**
 * Restores everything into a service that has not processed anything yet.
 *
 * @throws {DataFolderError} when the folder has accounts that are not given, or is unreadable; it is left unchanged
 */
export function restoreService(store: Store, kept: Kept): Unfinished[] {
  return store.reading(() => restored(store, kept));
}

function restored(store: Store, kept: Kept): Unfinished[] {
  const { accounts, states, signingKeys, indexes, statistics, admission } = kept;
  const seeds = new Map(kept.seeds.map((seed) => [seed.id, givenOf(seed)]));
  const stored = (document(store, 'accounts') ?? []) as readonly StoredAccount[];
  for (const { given: before, account, signingKeys: keys } of stored) {
    const given = seeds.get(account.id);
    if (given === undefined) {
      throw new DataFolderError(
        `the data folder holds the account ${account.id}, which is not configured. Add the account, or use another folder.`,
      );
    }
    const { plan, current, next, ...anew } = givenAnew(given, before);
    accounts.restore({ ...account, ...anew });
    if (plan !== undefined) {
      const { enterpriseId } = accounts.byId(account.id)!;
      accounts.setPlan(account.id, { plan, now: kept.now, ...(enterpriseId !== undefined && { enterpriseId }) });
    }
    signingKeys.restore(account.id, { current: current ?? keys.current, next: next ?? keys.next });
  }
  admission.restore((document(store, 'messagesOfDays') ?? {}) as MessagesOfDays);
  const snapshot = document(store, 'indexes') as IndexesSnapshot | undefined;
  if (snapshot !== undefined) indexes.restore(snapshot);
  restoreStatistics(store.db, statistics);
  const positions = (document(store, 'positions') ?? {}) as Readonly<Record<string, Positions>>;
  const unfinished = [...states.values()].flatMap((state) =>
    restoreAccount(store.db, state, positions[state.accountId] ?? { log: 0, dlq: 0, workflowDlq: 0 }),
  );
  store.watch(documentsOf(kept, seeds));
  if ([...states.values()].some(({ log }) => log.size >= MANY_ENTRIES)) collectGarbage();
  return unfinished;
}

function documentsOf(
  { accounts, states, signingKeys, indexes, admission }: Kept,
  seeds: ReadonlyMap<string, Given>,
): readonly StoredDocument[] {
  return [
    {
      key: 'accounts',
      read: () =>
        accounts.all().map((account): StoredAccount => ({
          given: seeds.get(account.id)!,
          account,
          signingKeys: signingKeys.of(account.id),
        })),
    },
    { key: 'messagesOfDays', read: () => admission.messagesOfDays() },
    { key: 'indexes', read: () => indexes.snapshot() },
    {
      key: 'positions',
      read: () => Object.fromEntries([...states.values()].map((state) => [state.accountId, positionsOf(state)])),
    },
  ];
}

/** Returns the time of the folder's first start in epoch milliseconds. The cost of plans is counted from then on. */
export function beganAt(store: Store, now: number): number {
  const known = store.reading(() => document(store, 'began')) as number | undefined;
  if (known !== undefined) return known;
  store.db.prepare(`INSERT INTO item VALUES ('', 'document', 'began', ?)`).run(JSON.stringify(now));
  return now;
}

function document(store: Store, key: string): unknown {
  const row = store.db.prepare(`SELECT value FROM item WHERE account = '' AND kind = 'document' AND key = ?`).get(key);
  return row === undefined ? undefined : (JSON.parse(row['value'] as string) as unknown);
}

/**
 * Wraps routes that make changes. They respond when their change is on disk. While the disk fails, they have no effect:
 * earlier changes wait in memory, and their number must not grow.
 */
export function durableRoutes(routes: readonly Route[], store: Store): readonly Route[] {
  return routes.map((route) => {
    if (route.method === 'GET') return route;
    const handle = async (request: ReceivedRequest): Promise<ApiResponse> => {
      if (store.isBehind) {
        const done = 'The request had no effect: free disk space or repair the disk, then retry.';
        await store.durable().catch((error: unknown) => refuse(503, store, { error, done }));
      }
      const response = await route.handle(request);
      const done =
        'The request took effect and will be written as soon as possible; until then, the change is lost if the process ends.';
      await store.durable().catch((error: unknown) => refuse(500, store, { error, done }));
      return response;
    };
    return { ...route, handle };
  });
}

function refuse(status: number, store: Store, { error, done }: { readonly error: unknown; readonly done: string }) {
  throw new ApiError(status, `${store.path} cannot be written (${errorMessage(error)}). ${done}`);
}

/** Returns statistics that also count every fact in the store, with the billing of the plan at that time. */
export function keptStatistics(statistics: Statistics, store: Store, plans: PlanBilling): Statistics {
  return {
    ...statistics,
    record: (accountId, fact, times = 1) => {
      statistics.record(accountId, fact, times);
      const whole = fact.kind === 'attempt' ? { paid: plans.paysByMessage(accountId), ...fact } : fact;
      store.counted(accountId, whole, times);
    },
  };
}
