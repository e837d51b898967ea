/** What people ask of the engine, over its exchange: a command waits meanwhile, and is answered by the next engine. */
import type { Engine } from '#automate/engine/engine.ts';
import type { Commands } from '#operate/api/api-deps.ts';

export interface HeldCommands extends Disposable {
  /** Resolves when every command that was under way has ended. */
  readonly ended: Promise<unknown>;
}

/** Lets commands through, except while the engine is exchanged. */
export class CommandGate {
  readonly #underWay = new Set<Promise<unknown>>();
  #held: Promise<void> | undefined;
  #breakOff = new AbortController();

  /** Breaks off the commands under way, and lets those that come wait until it is disposed. */
  hold(): HeldCommands {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held = promise;
    this.#breakOff.abort(new Error('the configuration is reloaded'));
    this.#breakOff = new AbortController();
    const open = (): void => {
      this.#held = undefined;
      resolve();
    };
    return { ended: Promise.allSettled(this.#underWay), [Symbol.dispose]: open };
  }

  /** @param work is given a signal that is aborted with the given one, and when the engine is exchanged */
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

  /** Begins again with the next engine if the work was broken off: for what reads and does nothing. */
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

/** A pause never waits: it is written at once, and the next engine finds it. */
export function commandsOf(gate: CommandGate, engine: () => Engine): Commands {
  return {
    conditions: () => engine().conditions(),
    plan: (policy, request, signal) => gate.read(signal, (given) => engine().plan(policy, request, given)),
    apply: (id, person, signal) => gate.pass(signal, (given) => engine().apply(id, person, given)),
    explain: (id, signal) => gate.read(signal, (given) => engine().explain(id, given)),
    approve: (id, person) => gate.pass(undefined, () => engine().approve(id, person)),
    reject: (id, person) => gate.pass(undefined, () => engine().reject(id, person)),
    pause: (pause) => engine().pause(pause),
    unpause: (lifted) => gate.pass(undefined, () => engine().unpause(lifted)),
  };
}
