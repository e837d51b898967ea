/**
 * Reloads of the configuration and their results: on a signal, on request, and when its files change. Simultaneous
 * requests share one reload. A request during a reload causes another one: the files may have changed after they were
 * read.
 */
import type { Config } from '#config/config.ts';
import { contentsOf } from '#config/contents.ts';
import { loadConfig, type LoadResult, type ConfigProblem } from '#config/load.ts';
import type { Clock, Timer } from '#foundation/platform/clock.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import type { ReloadOutcome } from '#operate/api/api-deps.ts';

const LOOK_EVERY_MS = 5_000;
/** Time without a change before a file is loaded: it may still be being written. */
const SETTLE_MS = 1_000;

/** Result of the last reload, for the running daemon. */
export interface ReloadState {
  readonly ok: boolean;
  /** Epoch milliseconds of the last successful load. */
  readonly goodAt: number;
  /** Problems, one on each line. */
  readonly problems: readonly string[];
  /** True if the change may concern policies but cannot be read: the policies are in audit. */
  readonly auditOnly: boolean;
}

export interface ReloaderOptions {
  readonly path: string;
  /** Contents of the configuration that was loaded first. */
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
  /** Contents that were loaded last, valid or not. */
  #loaded: string;
  /** True if they were invalid: a missing file, such as that of a secret, may appear later. */
  #isUnusable = false;
  #asked: Asked[] = [];
  #wake: (() => void) | undefined;
  #look: Timer;
  /** Result for requests while the daemon is replaced: they do not wait for the end. */
  #exchanging: ReloadOutcome | undefined;
  state: ReloadState;

  constructor(options: ReloaderOptions) {
    this.#options = options;
    this.#contents = contentsOf(options.path, options.env);
    this.#loaded = options.contents;
    this.state = { ok: true, goodAt: options.clock.now(), problems: [], auditOnly: false };
    this.#look = this.#lookAfter(LOOK_EVERY_MS);
  }

  /** @returns the result; a valid and changed configuration is applied next */
  request(by: string): Promise<ReloadOutcome> {
    return new Promise((resolve) => {
      this.#asked.push({ by, answer: resolve });
      if (this.#exchanging !== undefined) resolve(this.#exchanging);
      this.#wake?.();
    });
  }

  /** Waits for a request. @returns the requesters; undefined after an abort */
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

  /** Reads and checks. Later requests cause another reload. */
  load(): Loaded & { readonly answer: (outcome: ReloadOutcome) => void } {
    const asked = this.#asked;
    this.#asked = [];
    const { path, env } = this.#options;
    this.#loaded = this.#contents();
    const result = tryLoad(path, env);
    this.#isUnusable = !result.ok;
    const answer = (outcome: ReloadOutcome): void => {
      // Requests that arrived in the meantime need not wait for the next daemon; their reload still happens.
      if (outcome.ok && outcome.changed) this.#exchanging = outcome;
      for (const one of [...asked, ...(this.#exchanging === undefined ? [] : this.#asked)]) one.answer(outcome);
    };
    if (result.ok) return { ok: true, config: result.config, answer };
    if ('broken' in result) return { ok: false, problems: [result.broken], answer };
    const problems = result.problems.filter(({ severity }) => severity === 'error').map(lineOf);
    return { ok: false, problems, policyPart: result.policyPart, answer };
  }

  good(): void {
    this.state = { ok: true, goodAt: this.#options.clock.now(), problems: [], auditOnly: false };
  }

  /**
   * @param auditOnly stays true until a successful load: the problems may change, but the intended policies stay unknown
   */
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

/** Loads the configuration. A crash of the check must not end the running daemon. */
function tryLoad(
  path: string,
  env: ReloaderOptions['env'],
): LoadResult | { readonly ok: false; readonly broken: string } {
  try {
    return loadConfig(path, { env });
  } catch (error) {
    const why = `the check itself failed, which is a bug in opsd: ${errorMessage(error)}`;
    return { ok: false, broken: `${path}: ${why}` };
  }
}

function lineOf({ file, line, column, path, message, help }: ConfigProblem): string {
  const where = `${file}:${line}:${column}:${path === '' ? '' : ` ${path}:`}`;
  return `${where} ${message}${help === undefined ? '' : ` (${help})`}`;
}
