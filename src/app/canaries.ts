/** Canaries of the daemon: their messages outlive a generation, their schedules do not. */
import type { Account, Config } from '#config/config.ts';
import { canaryUrl, type Canaries } from '#foundation/domain/canary.ts';
import type { EventBus } from '#foundation/events/events.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { createHttpPost } from '#foundation/platform/http-post.ts';
import { reportStoreFailure } from '#foundation/events/store-failure.ts';
import type { Scheduler } from '#foundation/scheduler/scheduler.ts';
import { CanaryAnswers } from '#observe/canary/answers.ts';
import { CanaryBook } from '#observe/canary/book.ts';
import { startCanaries } from '#observe/canary/canaries.ts';
import { CanaryInbox } from '#observe/canary/inbox.ts';
import type { CanaryTarget } from '#observe/canary/target.ts';
import { createCanaryStore } from '#storage/canary-store.ts';
import type { Accounts } from './accounts.ts';
import type { Parts } from '#foundation/platform/parts.ts';
import type { Storage } from './storage.ts';

/** Limit of a request to the hooks listener itself. */
const PROBE_MS = 10_000;

/** Canaries of the process. */
export interface CanaryPost {
  /** Schedules the canaries of a generation, and ends them with its parts. */
  start(deps: StartDeps, parts: Parts): GenerationCanaries;
}

/** Canaries of a generation. */
export interface GenerationCanaries extends Canaries {
  /** Takes requests of the service. */
  readonly inbox: CanaryInbox;
}

interface StartDeps {
  readonly config: Config;
  readonly accounts: Accounts;
  readonly scheduler: Scheduler;
}

interface PostDeps {
  readonly storage: Pick<Storage, 'database' | 'scope' | 'canaryRelay'>;
  /** Accounts whose canaries this process sends. */
  readonly accounts: readonly string[];
  readonly clock: Clock;
  readonly events: EventBus;
}

export async function openCanaries({ storage, clock, events, accounts: own }: PostDeps): Promise<CanaryPost> {
  const { canaryRelay: relay } = storage;
  const book = await CanaryBook.open({ store: createCanaryStore(storage, storage.scope()), clock, events });
  const onFailed = (error: unknown): void => reportStoreFailure(events, 'record of a canary', error);
  const isOwn = (account: string): boolean => own.includes(account);
  const inbox = new CanaryInbox(book, relay && { relay, clock, isOwn, onFailed });
  return {
    start({ config, accounts, scheduler }, parts) {
      const http = parts.use(createHttpPost({ clock, timeoutMs: PROBE_MS }));
      const answers = parts.use(new CanaryAnswers(events, clock));
      const targets = config.accounts.flatMap((account) => targetsOf(account, { config, accounts, book, inbox }));
      const running = startCanaries({ targets, scheduler, events, clock, http, answers });
      parts.ending('canaries', 2_000, () => running.stop());
      return { inbox, states: () => running.states() };
    },
  };
}

interface TargetDeps extends Pick<CanaryTarget, 'book' | 'inbox'> {
  readonly config: Config;
  readonly accounts: Accounts;
}

function targetsOf(account: Account, { config, accounts, book, inbox }: TargetDeps): CanaryTarget[] {
  const api = accounts.clients.get(account.name)?.message;
  const { publicUrl } = config.hooks;
  if (api === undefined || publicUrl === undefined) return [];
  const base = canaryUrl(publicUrl, account.name);
  const connection = accounts.connections.find((one) => one.account.name === account.name);
  const apiUrl = connection?.client.messageApi?.url ?? '';
  return account.canaries.map((settings) => {
    const url = `${base}${settings.name}`;
    const place = { account: account.name, canary: settings.name };
    return { ...place, settings, url, callbackUrl: `${url}/callback`, api, apiUrl, book, inbox };
  });
}
