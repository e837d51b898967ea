/** Kept bodies of dead letters: the settings of each account, and the end of bodies. */
import type { Config } from '#config/config.ts';
import type { EventBus } from '#foundation/events/events.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { createKeptBodies, type BodyStore, type KeptBodies } from '#automate/ledger/kept-bodies.ts';
import type { FailureCallback } from '#service/api.ts';
import type { GenerationBase } from './generation-base.ts';
import { credentialOf } from './credentials.ts';
import { scheduleDeletes } from './maintenance.ts';

const END_EVERY_MS = 600_000;
/** Pause between two batches, since others write to the store as well. */
const NEXT_BATCH_MS = 1_000;

/** Returns the bodies of all accounts that keep them: their callbacks arrive at any replica. */
export function keptBodies({ accounts }: Config, events: EventBus, clock: Pick<Clock, 'now'>): KeptBodies {
  const settings = accounts.flatMap(({ name: account, deadLetters: { bodies }, limits: { dlqRetention } }) => {
    if (bodies === undefined) return [];
    const { keep, maxBytes, maxTotal, keyFile } = bodies;
    const credential = { account, credential: 'deadLetters.bodies.key' };
    const keys = keyFile === undefined ? undefined : credentialOf(events, credential, undefined, keyFile);
    // A body ends with its dead letter.
    return [[account, { keep: Math.min(keep, dlqRetention ?? keep), maxBytes, maxTotal, keys }] as const];
  });
  return createKeptBodies(new Map(settings), clock);
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

/** Returns the bytes of each account that keeps bodies. */
export async function bodyBytes(
  { config, bodies }: Pick<GenerationBase, 'config' | 'bodies'>,
  ledger: Pick<BodyStore, 'bodyBytes'>,
): Promise<ReadonlyMap<string, number>> {
  const names = config.accounts.map(({ name }) => name).filter((name) => bodies.settings.has(name));
  const bytes = names.length === 0 ? new Map<string, number>() : await ledger.bodyBytes();
  return new Map(names.map((name) => [name, bytes.get(name) ?? 0]));
}

/** Ends bodies, also those of accounts that keep none any more. */
export function scheduleBodies({ config, bodies, scheduler, storage, clock, events }: GenerationBase): void {
  const { ledger, replica } = storage;
  const drop = (account: string, reason: 'expired' | 'total', count: number) => {
    if (count > 0) events.emit({ type: 'bodies.dropped', account, reason, count });
  };
  const task = { name: 'dead-letter-bodies', every: END_EVERY_MS, operation: 'end of bodies' };
  scheduleDeletes({ scheduler, clock, events }, task, async (now) => {
    const present = await ledger.bodyBytes();
    for (const { name } of config.accounts.filter(({ name }) => present.has(name))) {
      const { keep, maxTotal } = bodies.settings.get(name) ?? { keep: 0, maxTotal: Infinity };
      drop(name, 'total', await ledger.retainBodies(name, { keep, maxTotal }));
    }
    // One replica deletes the rows of all, also of accounts that no replica has.
    if (replica?.isLeader() === false) return undefined;
    const { ended, more } = await ledger.endBodies(now);
    for (const [account, count] of ended) drop(account, 'expired', count);
    return more ? NEXT_BATCH_MS : undefined;
  });
}
