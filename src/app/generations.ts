/** Generations of the daemon, one after the other: for another configuration, and for other accounts of this replica. */
import type { Config } from '#config/config.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import type { Logger } from '#foundation/platform/logger.ts';
import { OneByOne } from '#foundation/platform/one-by-one.ts';
import { sleep } from '#foundation/platform/sleep.ts';
import type { AuditCounts } from '#automate/ledger/counted-audit.ts';
import type { CommandGate, HeldCommands } from './commands.ts';
import type { Generation } from './generation.ts';
import type { AddressChange } from './listeners.ts';
import type { ExchangeOptions, Handover } from './options.ts';
import type { Replica } from './replica.ts';

/** Pause after a failed start of a generation. Heartbeats continue, so no other replica takes its accounts. */
const AGAIN_MS = 1_000;

export interface GenerationsDeps {
  readonly gate: CommandGate;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'error'>;
  /** Absent if the store is not shared. */
  readonly replica: Replica | undefined;
  readonly create: (whole: Config, handed: () => Handover | undefined) => Promise<Generation>;
  /** Called with each generation before it starts. */
  readonly onBegin: (next: Generation) => void;
  readonly auditCounts: () => AuditCounts;
}

/** Change of what outlives a generation, together with the configuration. */
interface Surroundings {
  change(next: Config): Promise<AddressChange>;
  /** Called when the next configuration runs. */
  taken(next: Config): void;
}

export class Generations {
  readonly #deps: GenerationsDeps;
  readonly #turns = new OneByOne();
  readonly #stopping = new AbortController();
  #present: Generation;

  private constructor(deps: GenerationsDeps, first: Generation) {
    this.#deps = deps;
    this.#present = first;
  }

  /** Creates the first generation. It starts with `start`. */
  static async create(first: Config, handed: Handover | undefined, deps: GenerationsDeps): Promise<Generations> {
    deps.replica?.begin();
    const generation = await deps.create(first, () => handed);
    deps.onBegin(generation);
    return new Generations(deps, generation);
  }

  get present(): Generation {
    return this.#present;
  }

  start(): void {
    this.#present.start();
    const { replica } = this.#deps;
    if (replica === undefined) return;
    const changed = (): void => void this.#turns.run(() => this.#changeAccounts(replica));
    replica.follow(changed, (account) => this.#present.metrics.withdraw(account));
    changed();
  }

  /** Stops the present generation, and starts no other one. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the daemon stops'));
    await this.#turns.idle();
    await this.#present.stop();
  }

  /** Replaces the configuration; see `Daemon.exchange`. */
  exchange(next: Config, options: ExchangeOptions, around: Surroundings): Promise<boolean> {
    return this.#turns.run(() => this.#exchange(next, options, around));
  }

  async #exchange(next: Config, { signal, onFailed }: ExchangeOptions, around: Surroundings): Promise<boolean> {
    let change: AddressChange;
    try {
      change = await around.change(next);
    } catch (error) {
      onFailed(errorMessage(error));
      return false;
    }
    const { gate, replica, create } = this.#deps;
    const old = this.#present;
    using commands = gate.hold(new Error('the configuration is being reloaded'));
    await endGeneration(old, commands, signal);
    if (signal.aborted) {
      await change.cancel();
      return false;
    }
    const handed = this.#handedBy(old);
    replica?.configure(next);
    replica?.begin();
    try {
      this.#begin(await create(next, handed));
    } catch (error) {
      await change.cancel();
      onFailed(errorMessage(error));
      replica?.configure(old.whole);
      await this.#beginAgain(old.whole, handed, signal);
      return false;
    }
    around.taken(next);
    const closed = change.commit();
    commands[Symbol.dispose]();
    await closed;
    return true;
  }

  /** Replaces the generation by one for the accounts that this replica owns now. */
  async #changeAccounts(replica: Replica): Promise<void> {
    const { signal } = this.#stopping;
    if (signal.aborted || replica.isCurrent()) return;
    const old = this.#present;
    using commands = this.#deps.gate.hold(new Error('this replica takes or hands over accounts; try again'));
    await endGeneration(old, commands, signal);
    if (!signal.aborted) await this.#beginAgain(old.whole, this.#handedBy(old), signal);
  }

  /** @throws {Error} if the store is not shared, and the generation does not start */
  async #beginAgain(whole: Config, handed: () => Handover, signal: AbortSignal): Promise<void> {
    const { replica, create, logger, clock } = this.#deps;
    while (!signal.aborted) {
      replica?.begin();
      try {
        this.#begin(await create(whole, handed));
        return;
      } catch (error) {
        if (replica === undefined) throw error;
        // The database may be unavailable for a while. Until then, the old generation shows what was committed.
        logger.error({ error: errorMessage(error) }, 'the work on the accounts does not start, and is tried again');
        await sleep(clock, AGAIN_MS, signal).catch(() => undefined);
      }
    }
  }

  #handedBy(old: Generation): () => Handover {
    let handed: Handover | undefined;
    return () => (handed ??= { ...old.handOver(), audited: this.#deps.auditCounts() });
  }

  #begin(next: Generation): void {
    this.#present = next;
    this.#deps.onBegin(next);
    next.start();
  }
}

/** Parts that end before the next generation starts. */
export type Ending = Pick<Generation, 'stop' | 'idle' | 'release'> & {
  readonly accounts: Pick<Generation['accounts'], 'closed'>;
};

/**
 * Ends a generation before the next one. Two engines never act at the same time: this waits for all running work,
 * however long it takes. Read data and counts are still served.
 *
 * @param signal ends the wait; no other generation must start then
 */
export async function endGeneration(old: Ending, commands: HeldCommands, signal: AbortSignal): Promise<void> {
  await old.stop();
  await untilAborted(signal, Promise.all([commands.ended, old.idle()]));
  if (signal.aborted) return;
  await old.release();
  // Requests that were reserved in advance are released after the connections are closed.
  await old.accounts.closed();
}

async function untilAborted(signal: AbortSignal, work: Promise<unknown>): Promise<void> {
  if (signal.aborted) return;
  const { promise: stopped, resolve: onAbort } = Promise.withResolvers<void>();
  const listener = (): void => onAbort();
  signal.addEventListener('abort', listener);
  await Promise.race([work, stopped]).finally(() => signal.removeEventListener('abort', listener));
}
