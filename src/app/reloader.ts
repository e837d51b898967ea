/**
 * When the configuration is loaded again, and what came of it: on a signal, on request, and when the contents of its
 * files change. Requests that meet share one loading, and a request during one is followed by another: the files may
 * have changed after they were read.
 */
import type { Config } from '#config/config.ts';
import { contentsOf } from '#config/contents.ts';
import { loadConfig, type LoadResult, type Problem } from '#config/load.ts';
import type { Clock, Timer } from '#foundation/platform/clock.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';

const LOOK_EVERY_MS = 5_000;
/** A file that is being written is let be: what is loaded has stood still for so long. */
const SETTLE_MS = 1_000;

export type ReloadOutcome =
  | { readonly ok: true; readonly changed: boolean; readonly webConfig: boolean; readonly hash: string }
  | { readonly ok: false; readonly message: string };

/** How the last loading went, for the daemon that runs. */
export interface ReloadState {
  readonly ok: boolean;
  /** Epoch milliseconds of the last good one. */
  readonly goodAt: number;
  /** What is wrong, a line each. */
  readonly problems: readonly string[];
  /** Somebody meant to change what policies do, and it is not known to what: they only watch. */
  readonly auditOnly: boolean;
}

export interface ReloaderOptions {
  readonly path: string;
  /** Of the configuration that was loaded first. */
  readonly contents: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
}

type Loaded =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly problems: readonly string[]; readonly policyPart?: string };

interface Asked {
  readonly by: string;
  readonly answer: (outcome: ReloadOutcome) => void;
}

export class Reloader implements Disposable {
  readonly #options: ReloaderOptions;
  readonly #contents: () => string;
  /** Contents that were loaded last, good or bad. */
  #loaded: string;
  /** They could not be used: what they name, such as the file of a secret, may come later. */
  #isUnusable = false;
  #asked: Asked[] = [];
  #wake: (() => void) | undefined;
  #look: Timer;
  /** While the daemon is exchanged nobody is kept waiting for it. */
  #exchanging: ReloadOutcome | undefined;
  state: ReloadState;

  constructor(options: ReloaderOptions) {
    this.#options = options;
    this.#contents = contentsOf(options.path, options.env);
    this.#loaded = options.contents;
    this.state = { ok: true, goodAt: options.clock.now(), problems: [], auditOnly: false };
    this.#look = this.#lookAfter(LOOK_EVERY_MS);
  }

  /** @returns what came of it: a configuration that is good and changed is about to be taken up */
  request(by: string): Promise<ReloadOutcome> {
    return new Promise((resolve) => {
      this.#asked.push({ by, answer: resolve });
      if (this.#exchanging !== undefined) resolve(this.#exchanging);
      this.#wake?.();
    });
  }

  /** Waits until somebody asks. @returns who; undefined when the signal is aborted */
  async asked(signal: AbortSignal): Promise<string | undefined> {
    this.#exchanging = undefined;
    while (!signal.aborted && this.#asked.length === 0) {
      await new Promise<void>((resolve) => {
        this.#wake = () => {
          signal.removeEventListener('abort', this.#wake!);
          resolve();
        };
        signal.addEventListener('abort', this.#wake, { once: true });
      });
    }
    return signal.aborted ? undefined : [...new Set(this.#asked.map(({ by }) => by))].join(', ');
  }

  /** Reads and checks; those who ask from now on are asked for again. */
  load(): Loaded & { readonly answer: (outcome: ReloadOutcome) => void } {
    const asked = this.#asked;
    this.#asked = [];
    const { path, env } = this.#options;
    this.#loaded = this.#contents();
    const result = tryLoad(path, env);
    this.#isUnusable = !result.ok;
    const answer = (outcome: ReloadOutcome): void => {
      // Those who came meanwhile need not wait for the daemon that follows; the loading they asked for comes all the same.
      if (outcome.ok && outcome.changed) this.#exchanging = outcome;
      for (const one of [...asked, ...(this.#exchanging === undefined ? [] : this.#asked)]) one.answer(outcome);
    };
    if (result.ok) return { ok: true, config: result.config, answer };
    if ('broken' in result) return { ok: false, problems: [result.broken], answer };
    const problems = result.problems.filter(({ severity }) => severity === 'error').map(lineOf);
    return {
      ok: false,
      problems,
      ...(result.policyPart !== undefined && { policyPart: result.policyPart }),
      answer,
    };
  }

  good(): void {
    this.state = { ok: true, goodAt: this.#options.clock.now(), problems: [], auditOnly: false };
  }

  /** @param auditOnly stays so until a good one: what is wrong may change, what was meant does not become known */
  bad(problems: readonly string[], auditOnly: boolean): void {
    const { goodAt, auditOnly: before } = this.state;
    this.state = { ok: false, goodAt, problems, auditOnly: auditOnly || before };
  }

  [Symbol.dispose](): void {
    this.#look.cancel();
  }

  #isMended(): boolean {
    const { path, env } = this.#options;
    return this.#isUnusable && tryLoad(path, env).ok;
  }

  #lookAfter(ms: number, seen?: string): Timer {
    return this.#options.clock.after(ms, () => {
      const now = this.#contents();
      const isNew = now !== this.#loaded;
      const stands = isNew && now === seen;
      if (stands || (!isNew && this.#isMended())) void this.request('the files changed');
      this.#look = isNew && !stands ? this.#lookAfter(SETTLE_MS, now) : this.#lookAfter(LOOK_EVERY_MS);
    });
  }
}

/** A check that breaks down must not end the daemon that runs. */
function tryLoad(
  path: string,
  env: ReloaderOptions['env'],
): LoadResult | { readonly ok: false; readonly broken: string } {
  try {
    return loadConfig(path, { env });
  } catch (error) {
    const why = `it could not be checked, which is a mistake of opsd itself: ${errorMessage(error)}`;
    return { ok: false, broken: `${path}: ${why}` };
  }
}

function lineOf({ file, line, column, path, message, help }: Problem): string {
  const where = `${file}:${line}:${column}:${path === '' ? '' : ` ${path}:`}`;
  return `${where} ${message}${help === undefined ? '' : ` (${help})`}`;
}
