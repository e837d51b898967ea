/** Routing of commands between replicas: a command runs in the process that works on its account. */
import type { Clock } from '#foundation/platform/clock.ts';
import { isLeaseLost } from '#foundation/events/store-failure.ts';
import { sleep } from '#foundation/platform/sleep.ts';
import { HttpError } from '#operate/http/reply.ts';
import { OperationError } from '#operate/operations/operation-error.ts';
import type { StoredCommand } from '#storage/postgres/command-requests.ts';
import type { Generation } from './generation.ts';
import type { Peers } from './peers.ts';
import type { Replica } from './replica.ts';

/** Time for the owner to take a command, also while it changes. */
const TAKEN_WITHIN_MS = 15_000;
/** Pause between two attempts while the owner changes. */
const AGAIN_MS = 500;

/** The account has moved to another replica. Nothing was run. */
class MovedError extends HttpError {
  constructor(account: string) {
    super(503, 'not_run', `Account ${account} has moved to another replica; nothing was run. Try again.`);
  }
}

export interface RoutingDeps {
  readonly generation: () => Generation;
  readonly clock: Clock;
  readonly peers: Pick<Peers, 'requests'>;
  readonly replica: Pick<Replica, 'owners'>;
}

/** Result or error of a command, as JSON. */
type Carried =
  | { readonly is: 'result'; readonly value: unknown }
  | { readonly is: 'moved' }
  | { readonly is: 'http'; readonly status: number; readonly code: HttpError['code']; readonly message: string }
  | { readonly is: 'operation'; readonly code: OperationError['code']; readonly message: string }
  | { readonly is: 'error'; readonly message: string };

export class Routing {
  readonly #deps: RoutingDeps;

  constructor(deps: RoutingDeps) {
    this.#deps = deps;
  }

  /** Returns true if this process works on the account, or if none does because it is not configured. */
  isHere(account: string): boolean {
    const { config, whole } = this.#deps.generation();
    const has = ({ accounts }: typeof config): boolean => accounts.some(({ name }) => name === account);
    return has(config) || !has(whole);
  }

  /** @throws {MovedError} if another process works on the account now */
  requireHere(account: string): void {
    if (!this.isHere(account)) throw new MovedError(account);
  }

  /** Returns an account of each other replica. */
  others(): readonly string[] {
    const owned = this.#elsewhere().filter(([, replica]) => replica !== undefined);
    return [...new Map(owned.map(([account, replica]) => [replica, account])).values()];
  }

  /** Returns the accounts without a known owner. */
  unowned(): readonly string[] {
    return this.#elsewhere().flatMap(([account, replica]) => (replica === undefined ? [account] : []));
  }

  /** Returns the name of the replica that owns an account; undefined if none is known. */
  ownerOf(account: string): string | undefined {
    return this.#deps.replica.owners().get(account)?.replica;
  }

  /**
   * Runs a command in the process that works on its account.
   *
   * @param local runs it here. It must call `requireHere` as its first step, since it may wait for another engine.
   * @param signal ends the wait; aborts the command if it can be aborted
   * @throws {HttpError} if no replica takes the command, or if its outcome is unknown
   */
  async run<T>(command: StoredCommand, signal: AbortSignal, local: () => Promise<T>): Promise<T> {
    const { clock, peers } = this.#deps;
    const until = clock.monotonic() + TAKEN_WITHIN_MS;
    for (;;) {
      let why = 'its account moves to another replica';
      try {
        if (this.isHere(command.account)) return await local();
        const sent = await sentTo(peers, command, signal, Math.max(AGAIN_MS, until - clock.monotonic()));
        if (sent.taken) return received(command, sent.result as Carried) as T;
        ({ why } = sent);
      } catch (error) {
        if (!hasMoved(error)) throw explained(error);
      }
      if (clock.monotonic() >= until) {
        throw new HttpError(503, 'not_run', `The command was not run: ${why}. Try again.`, { 'Retry-After': '10' });
      }
      await sleep(clock, AGAIN_MS, signal);
    }
  }

  /** Accounts that this process does not work on, with their owners. */
  #elsewhere(): readonly (readonly [account: string, replica: string | undefined])[] {
    const owners = [...this.#deps.replica.owners()].filter(([account]) => !this.isHere(account));
    return owners.map(([account, { replica }]) => [account, replica]);
  }

  /** Leaves work for the owner of an account, which does it once, soon. */
  async post(command: Omit<StoredCommand, 'by'>): Promise<void> {
    await this.#deps.peers.requests.post({ ...command, by: '' });
  }
}

/** Runs the command of another replica. @returns what `received` reads */
export async function carried(work: () => Promise<unknown>): Promise<Carried> {
  try {
    return { is: 'result', value: await work() };
  } catch (error) {
    if (hasMoved(error)) return { is: 'moved' };
    const known = explained(error);
    const message = known instanceof Error ? known.message : String(known);
    if (known instanceof HttpError) return { is: 'http', status: known.status, code: known.code, message };
    if (known instanceof OperationError) return { is: 'operation', code: known.code, message };
    return { is: 'error', message };
  }
}

/** Returns true if another replica may own the account, and nothing was changed. */
function hasMoved(error: unknown): boolean {
  return error instanceof MovedError || isLeaseLost(error);
}

/** Turns a failure of the store into a response that says what to do. Each command can be repeated. */
function explained(error: unknown): unknown {
  if (!(error instanceof Error) || error.name !== 'StoreError') return error;
  return new HttpError(503, 'store_unavailable', `${error.message}. Repeat the command when the store is back.`);
}

function received({ account }: StoredCommand, given: Carried): unknown {
  switch (given.is) {
    case 'result':
      return given.value;
    case 'moved':
      throw new MovedError(account);
    case 'http':
      throw new HttpError(given.status, given.code, given.message);
    case 'operation':
      throw new OperationError(given.code, given.message);
    case 'error':
      throw new Error(given.message);
  }
}

async function sentTo({ requests }: RoutingDeps['peers'], command: StoredCommand, signal: AbortSignal, ms: number) {
  try {
    return await requests.send(command, signal, ms);
  } catch (error) {
    const { name, message } = error as Error;
    if (name === 'CommandUnknownError')
      throw new HttpError(504, 'outcome_unknown', `The outcome is unknown: ${message}`);
    if (name === 'StoreError') throw new HttpError(503, 'store_unavailable', `The command was not run: ${message}`);
    throw error;
  }
}
