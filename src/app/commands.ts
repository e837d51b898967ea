/** Commands of operators across a replacement of the engine: a command waits, and the next engine answers it. */
import type { Engine } from '#automate/engine/engine.ts';
import type { EngineCommands } from '#automate/ledger/commands.ts';

export interface HeldCommands extends Disposable {
  /** Resolves when every command in progress has ended. */
  readonly ended: Promise<unknown>;
}

/** Passes commands on, except while the engine is replaced. */
export class CommandGate {
  readonly #underWay = new Set<Promise<unknown>>();
  #held: Promise<void> | undefined;
  #breakOff = new AbortController();

  /** Aborts the commands in progress with an error, and makes new ones wait until disposal. */
  hold(reason: Error): HeldCommands {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held = promise;
    this.#breakOff.abort(reason);
    this.#breakOff = new AbortController();
    const open = (): void => {
      this.#held = undefined;
      resolve();
    };
    return { ended: Promise.allSettled(this.#underWay), [Symbol.dispose]: open };
  }

  /** Resolves when every command in progress has ended. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }

  /** @param work called with a signal that aborts with the given one, and when the engine is replaced */
  async pass<T>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => T | Promise<T>): Promise<T> {
    while (this.#held !== undefined) await this.#held;
    signal?.throwIfAborted();
    const { signal: brokenOff } = this.#breakOff;
    const passed = Promise.resolve(work(signal === undefined ? brokenOff : AbortSignal.any([signal, brokenOff])));
    this.#underWay.add(passed);
    try {
      return await passed;
    } finally {
      this.#underWay.delete(passed);
    }
  }

  /** Repeats work that only reads, or makes a plan, with the next engine if it was aborted by a replacement. */
  async read<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    for (;;) {
      let within = signal;
      try {
        return await this.pass(signal, (given) => work((within = given)));
      } catch (error) {
        if (signal.aborted || !within.aborted) throw error;
      }
    }
  }
}

/** Commands through the gate. A pause never waits: it is stored at once, and the next engine finds it. */
export function commandsOf(gate: CommandGate, engine: () => Engine): EngineCommands {
  return {
    conditions: () => engine().conditions(),
    plan: (policy, request, signal) => gate.read(signal, (given) => engine().plan(policy, request, given)),
    planManually: (request, signal) => gate.read(signal, (given) => engine().planManually(request, given)),
    apply: (id, person, signal) => gate.pass(signal, (given) => engine().apply(id, person, given)),
    explain: (id, signal) => gate.read(signal, (given) => engine().explain(id, given)),
    approve: (id, person) => gate.pass(undefined, () => engine().approve(id, person)),
    cancel: (id, person) => gate.pass(undefined, () => engine().cancel(id, person)),
    reject: (id, person) => gate.pass(undefined, () => engine().reject(id, person)),
    pause: (pause) => engine().pause(pause),
    unpause: (lifted) => gate.pass(undefined, () => engine().unpause(lifted)),
    stillPaused: (policy) => engine().stillPaused(policy),
  };
}
