/** Kept bodies of dead letters: the settings of each account, and the end of bodies. */
import type { Account, Config } from '#config/config.ts';
import type { EventBus } from '#foundation/events/events.ts';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';
import { reportStoreFailure } from '#foundation/events/store-failure.ts';
import type { BodyRetention } from '#automate/ledger/kept-bodies.ts';
import type { FailureCallback } from '#service/api.ts';
import type { BodySettings } from '#storage/kept-bodies.ts';
import type { GenerationBase } from './generation-base.ts';
import { credentialOf } from './credentials.ts';

const END_EVERY_MS = 600_000;
/** Interval of attempts while no response of the service confirms the clock. */
const UNVERIFIED_MS = 60_000;
/** Pause between two batches, since others write to the store as well. */
const NEXT_BATCH_MS = 1_000;

/** Settings by the account's own, so that its hook and its readers share one view of the key file. */
const known = new WeakMap<Account, BodySettings>();

/** Returns the settings of the accounts that keep bodies. */
export function bodySettings(accounts: readonly Account[], events: EventBus): ReadonlyMap<string, BodySettings> {
  return new Map(
    accounts.flatMap((account) => {
      const { name, deadLetters, limits } = account;
      if (deadLetters.bodies === undefined) return [];
      const { keep, keyFile, ...rest } = deadLetters.bodies;
      const keys = () =>
        credentialOf(events, { account: name, credential: 'deadLetters.bodies.key' }, undefined, keyFile);
      const settings = getOrAdd(known, account, () => ({
        ...rest,
        // A body ends with its dead letter.
        keep: Math.min(keep, limits.dlqRetention ?? keep),
        ...(keyFile !== undefined && { keys: keys() }),
      }));
      return [[name, settings] as const];
    }),
  );
}

/** Returns where the service reports the failure of a message to this daemon, by account, with its token of now. */
export function failureCallbacks({ hooks }: Config, events: EventBus): ReadonlyMap<string, () => FailureCallback> {
  return new Map(
    Object.entries(hooks.callbacks).flatMap(([account, { token, tokenFile, url: own }]) => {
      const url = own ?? (hooks.publicUrl && `${hooks.publicUrl.replace(/\/$/, '')}/hooks/callbacks/${account}`);
      if (url === undefined) return [];
      const secret = credentialOf(events, { account, credential: 'hooks.callbacks.token' }, token, tokenFile);
      const forward = () => ({ Authorization: `Bearer ${secret.reveal().split('\n', 1)[0]!.trim()}` });
      return [[account, () => ({ url, forward: forward() })] as const];
    }),
  );
}

/** Returns a function that reads the bytes of the accounts that keep bodies; undefined if there are none. */
export function bodyBytes({ accounts: all }: Config, ledger: Pick<BodyRetention, 'bodyBytes'>) {
  const accounts = all.filter(({ deadLetters }) => deadLetters.bodies !== undefined);
  if (accounts.length === 0) return undefined;
  return async (): Promise<ReadonlyMap<string, number>> => {
    const bytes = await ledger.bodyBytes();
    return new Map(accounts.map(({ name }) => [name, bytes.get(name) ?? 0]));
  };
}

/** Ends bodies, also those of accounts that keep none any more. */
export function scheduleBodies({ config, scheduler, storage, clock, events }: GenerationBase): void {
  const { ledger, replica } = storage;
  const settings = bodySettings(config.accounts, events);
  const drop = (account: string, reason: 'expired' | 'total', count: number) => {
    if (count > 0) events.emit({ type: 'bodies.dropped', account, reason, count });
  };
  scheduler.add({
    name: 'dead-letter-bodies',
    schedule: { every: END_EVERY_MS },
    timeoutMs: END_EVERY_MS,
    jitter: 1,
    async run() {
      // With a clock set ahead, all bodies would end.
      if (!clock.isVerified()) return { againInMs: UNVERIFIED_MS };
      try {
        const present = await ledger.bodyBytes();
        for (const { name } of config.accounts.filter(({ name }) => present.has(name))) {
          const { keep, maxTotal } = settings.get(name) ?? { keep: 0, maxTotal: Infinity };
          drop(name, 'total', await ledger.retainBodies(name, { keep, maxTotal }));
        }
        // One replica deletes the rows of all, also of accounts that no replica has.
        if (replica?.isLeader() === false) return undefined;
        const { ended, more } = await ledger.endBodies(clock.now());
        for (const [account, count] of ended) drop(account, 'expired', count);
        if (more) return { againInMs: NEXT_BATCH_MS };
      } catch (error) {
        reportStoreFailure(events, 'end of bodies', error);
      }
      return undefined;
    },
  });
}
