/**
 * Reads a section of the log window by window. Windows are read in parallel and committed in order. A window that
 * breaks off is divided and read again; later windows are kept. A burst within one moment is divided from the rest at
 * once, so that it is not read again with every smaller window.
 */
import type { LogContext, TimeSpan, WindowBroken, WindowRead } from './log-window.ts';
import { AT_ONCE, type Pace } from './log-pace.ts';
import { serviceErrorCode } from '#foundation/domain/service-error.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { TimeoutError } from '#foundation/platform/sleep.ts';
import type { PageBudget } from './listing.ts';

/**
 * Failures after which the run does not try a smaller window: the service asked for fewer requests, or a smaller window
 * does not help.
 */
const ENDING: ReadonlySet<string | undefined> = new Set(['rate_limited', 'budget', undefined]);

export interface Walk {
  /** Epoch milliseconds, both inclusive. */
  readonly from: number;
  readonly end: number;
  readonly pace: Pace;
  readonly budget: PageBudget;
  /** Pages of the budget that are reserved for other reads. */
  readonly reserve: number;
  /** Monotonic time after which no window is started. */
  readonly until: number;
  /** Reads a window and never rejects. A window that cannot be divided has no limits. */
  readonly read: (
    span: TimeSpan,
    options: { signal: AbortSignal; isLimited: boolean },
  ) => Promise<WindowRead | WindowBroken>;
  /** Called before the commit, while further windows are being requested. */
  readonly beforeCommit: (read: WindowRead) => Promise<void>;
  readonly commit: (read: WindowRead) => Promise<void>;
  /** Called when a window broke off and the pace has shrunk. */
  readonly onBroken: () => Promise<void>;
}

export interface Walked {
  /** True if the walk reached the end, or the last moment that the service has reached. */
  readonly isDone: boolean;
  /** Epoch milliseconds up to the last commit. */
  readonly at: number;
  /** Reason for an early end. Absent if pages or time ran out. */
  readonly error?: unknown;
}

interface UnderWay {
  readonly span: TimeSpan;
  readonly reading: Promise<WindowRead | WindowBroken>;
}

/** @throws the signal's reason when it is aborted; earlier commits stay */
export async function walkLog(context: LogContext, walk: Walk): Promise<Walked> {
  return new LogWalk(context, walk).run();
}

class LogWalk {
  readonly #context: LogContext;
  readonly #walk: Walk;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  /** Unread spans and windows being read, each oldest first. */
  readonly #todo: TimeSpan[];
  readonly #underWay: UnderWay[] = [];
  #at: number;
  /** Service failure since the last commit. */
  #failure: unknown;
  /** Windows without a page since the last commit. */
  #unanswered = 0;

  constructor(context: LogContext, walk: Walk) {
    this.#context = context;
    this.#walk = walk;
    this.#signal = AbortSignal.any([context.signal, this.#stop.signal]);
    this.#todo = walk.from < walk.end ? [{ from: walk.from, to: walk.end }] : [];
    this.#at = walk.from;
  }

  async run(): Promise<Walked> {
    try {
      this.#request();
      while (this.#underWay.length > 0 && !this.#lacksOldest()) {
        const { span, reading } = this.#underWay.shift()!;
        const read = await reading;
        const ended = 'error' in read ? await this.#afterBroken(span, read) : await this.#afterRead(span, read);
        if (ended !== undefined) return ended;
      }
      this.#context.signal.throwIfAborted();
      return this.#ended(this.#at >= this.#walk.end, this.#failure);
    } finally {
      this.#stop.abort(new Error('the run has ended'));
      await Promise.all(this.#underWay.map(({ reading }) => reading));
    }
  }

  #ended(isDone: boolean, error?: unknown): Walked {
    return { isDone, at: this.#at, error };
  }

  /** Requests windows, oldest first, while pages and time remain. */
  #request(): void {
    const { pace, read } = this.#walk;
    while (this.#mayRequest()) {
      const [whole] = this.#todo;
      const width = pace.widthMs - (this.#isFirst(whole!) ? 0 : 1);
      const span = { from: whole!.from, to: Math.min(whole!.to, whole!.from + width) };
      if (span.to === whole!.to) this.#todo.shift();
      else this.#todo[0] = { from: span.to + 1, to: whole!.to };
      const place = this.#underWay.findIndex((other) => other.span.from > span.from);
      this.#underWay.splice(place === -1 ? this.#underWay.length : place, 0, {
        span,
        reading: read(span, { signal: this.#signal, isLimited: !this.#isMoment(span) }),
      });
    }
  }

  #mayRequest(): boolean {
    const { pace } = this.#walk;
    if (this.#todo.length === 0 || !this.#hasTime()) return false;
    // Several windows that are too wide would waste the pages of the run.
    if (!this.#lacksOldest() && !(pace.isProven && this.#underWay.length < AT_ONCE)) return false;
    const left = this.#pagesLeft();
    return left > 0 && (this.#underWay.length === 0 || left >= (this.#underWay.length + 1) * pace.pages);
  }

  /** Commits a window. Returns the end of the walk, if this was its last window. */
  async #afterRead(span: TimeSpan, read: WindowRead): Promise<Walked | undefined> {
    // The service's clock is behind ours, so there is nothing more to read now.
    if (read.to < span.from) return this.#ended(true);
    this.#walk.pace.learn(read);
    this.#request();
    await this.#walk.beforeCommit(read);
    await this.#walk.commit(read);
    this.#at = read.to;
    this.#failure = undefined;
    this.#unanswered = 0;
    return read.to < span.to ? this.#ended(true) : undefined;
  }

  /** Divides a window that broke off. Returns the end of the walk, if another request does not help. */
  async #afterBroken(span: TimeSpan, read: WindowBroken): Promise<Walked | undefined> {
    const { error, pages, isFull } = read;
    const isEnding = !isFull && ENDING.has(serviceErrorCode(error));
    if (pages === 0) this.#unanswered += 1;
    // A window without a page says nothing about its width, unless that repeats or a timeout ended it.
    const isAccident = pages === 0 && !read.isTimeout && (this.#unanswered === 1 || isEnding);
    const isBurst = read.burstAt !== undefined && !this.#isMoment(span) && this.#mayReadAgain(read);
    await this.#slowDown(read, isBurst || isAccident);
    if (this.#isMoment(span) && pages > 0) return this.#ended(false, momentError(this.#context, span, error));
    if (!isFull) this.#failure = error;
    else if (this.#pagesLeft() <= 0) return this.#ended(false, this.#failure);
    // Another request in this run is worth it only if the service responds and does not ask for fewer requests.
    if (isEnding || (pages === 0 && !isAccident)) return this.#ended(false, error);
    this.#todo.unshift(...(isBurst ? aroundMoment(span, read.burstAt) : [span]));
    this.#request();
    return undefined;
  }

  /** @throws the signal's reason when it is aborted */
  async #slowDown(read: WindowBroken, keepsPace: boolean): Promise<void> {
    const { signal } = this.#context;
    if (!signal.aborted || signal.reason instanceof TimeoutError) {
      if (!keepsPace) this.#walk.pace.shrink(read);
      await this.#walk.onBroken();
    }
    signal.throwIfAborted();
  }

  #hasTime(): boolean {
    return this.#context.clock.monotonic() < this.#walk.until;
  }

  #pagesLeft(): number {
    return this.#walk.budget.left - this.#walk.reserve;
  }

  /** Returns true if this run can read the pages of a window again. Otherwise the next run must begin with a smaller one. */
  #mayReadAgain({ pages }: WindowBroken): boolean {
    return this.#pagesLeft() > pages && this.#hasTime();
  }

  /** Returns true if the oldest uncommitted window is not being read. */
  #lacksOldest(): boolean {
    const [unread] = this.#todo;
    return unread !== undefined && (this.#underWay.length === 0 || unread.from < this.#underWay[0]!.span.from);
  }

  /** Returns true for the first window. Its first moment is already counted and does not make it divisible. */
  #isFirst(span: TimeSpan): boolean {
    return span.from === this.#walk.from;
  }

  /** Returns true if a window cannot be divided because it covers one moment only. */
  #isMoment(span: TimeSpan): boolean {
    return span.to - span.from <= (this.#isFirst(span) ? 1 : 0);
  }
}

/** Returns the parts of a span before a moment, the moment, and the part after it. */
function aroundMoment({ from, to }: TimeSpan, at: number): TimeSpan[] {
  const parts = [
    { from, to: at - 1 },
    { from: at, to: at },
    { from: at + 1, to },
  ];
  return parts.filter((part) => part.from <= part.to);
}

/**
 * Returns the error for a moment that cannot be read: its entries cannot be divided further, so counting stops there.
 */
function momentError({ target }: LogContext, { to }: TimeSpan, cause: unknown): Error {
  const { pageBudget } = target.settings.logs;
  const what = `log of account ${target.account}: the moment ${new Date(to).toISOString()} alone cannot be read completely`;
  const fix = `if the daemon's own limit was reached, raise collectors.logs.pageBudget (${pageBudget}) or collectors.logs.timeout`;
  const error = new Error(`${what}, so counting stops there: ${errorMessage(cause)}; ${fix}`, { cause });
  return Object.assign(error, { code: serviceErrorCode(cause) });
}
