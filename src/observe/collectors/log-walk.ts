/**
 * Reads a section of the log window by window. Windows are read in parallel and committed in order. A window that
 * breaks off is divided and read again; later windows are kept. A burst within one moment is divided from the rest at
 * once, so that it is not read again with every smaller window.
 */
import type { LogContext, Span, WindowBroken, WindowRead } from './log-window.ts';
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
    span: Span,
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
  readonly span: Span;
  readonly reading: Promise<WindowRead | WindowBroken>;
}

/** @throws the signal's reason when it is aborted; earlier commits stay */
export async function walkLog(context: LogContext, walk: Walk): Promise<Walked> {
  const stop = new AbortController();
  const signal = AbortSignal.any([context.signal, stop.signal]);
  const { pace, budget } = walk;
  /** Unread spans and windows being read, each oldest first. */
  const todo: Span[] = walk.from < walk.end ? [{ from: walk.from, to: walk.end }] : [];
  const underWay: UnderWay[] = [];
  let at = walk.from;
  /** Service failure since the last commit. */
  let failure: unknown;
  /** Windows without a page since the last commit. */
  let unanswered = 0;

  /** Returns true for the first window. Its first moment is already counted and does not make it divisible. */
  const isFirst = (span: Span): boolean => span.from === walk.from;
  /** Returns true if a window cannot be divided because it covers one moment only. */
  const isMoment = (span: Span): boolean => span.to - span.from <= (isFirst(span) ? 1 : 0);

  /** Returns true if the oldest uncommitted window is not being read. */
  const lacksOldest = (): boolean =>
    todo.length > 0 && (underWay.length === 0 || todo[0]!.from < underWay[0]!.span.from);

  /** Returns true if this run can read the pages of a window again. Otherwise the next run must begin with a smaller one. */
  const mayReadAgain = ({ pages }: WindowBroken): boolean =>
    budget.left - walk.reserve > pages && context.clock.monotonic() < walk.until;

  /** Requests windows, oldest first, while pages and time remain. */
  const request = (): void => {
    // Several windows that are too wide would waste the pages of the run.
    const mayRequest = (): boolean => lacksOldest() || (pace.isProven && underWay.length < AT_ONCE);
    while (todo.length > 0 && mayRequest() && context.clock.monotonic() < walk.until) {
      const left = budget.left - walk.reserve;
      if (left <= 0 || (underWay.length > 0 && left < (underWay.length + 1) * pace.pages)) return;
      const [whole] = todo;
      const span = {
        from: whole!.from,
        to: Math.min(whole!.to, whole!.from + pace.widthMs - (isFirst(whole!) ? 0 : 1)),
      };
      if (span.to === whole!.to) todo.shift();
      else todo[0] = { from: span.to + 1, to: whole!.to };
      const place = underWay.findIndex((other) => other.span.from > span.from);
      underWay.splice(place === -1 ? underWay.length : place, 0, {
        span,
        reading: walk.read(span, { signal, isLimited: !isMoment(span) }),
      });
    }
  };

  try {
    request();
    while (underWay.length > 0 && !lacksOldest()) {
      const { span, reading } = underWay.shift()!;
      const read = await reading;
      if ('error' in read) {
        const { aborted, reason } = context.signal;
        const isEnding = !read.isFull && ENDING.has(serviceErrorCode(read.error));
        if (read.pages === 0) unanswered += 1;
        // A window without a page says nothing about its width, unless that repeats or a timeout ended it.
        const isAccident = read.pages === 0 && !read.isTimeout && (unanswered === 1 || isEnding);
        const isBurst = read.burstAt !== undefined && !isMoment(span) && mayReadAgain(read);
        if (!aborted || reason instanceof TimeoutError) {
          if (!isBurst && !isAccident) pace.shrink(read);
          await walk.onBroken();
        }
        if (aborted) break;
        const { error, pages, isFull } = read;
        if (isMoment(span) && pages > 0) return { isDone: false, at, error: momentError(context, span, error) };
        if (!isFull) failure = error;
        else if (budget.left <= walk.reserve) return { isDone: false, at, error: failure };
        // Another request in this run is worth it only if the service responds and does not ask for fewer requests.
        if (isEnding || (pages === 0 && !isAccident)) return { isDone: false, at, error };
        todo.unshift(...(isBurst ? aroundMoment(span, read.burstAt) : [span]));
        request();
        continue;
      }
      // The service's clock is behind ours, so there is nothing more to read now.
      if (read.to < span.from) return { isDone: true, at };
      pace.learn(read);
      request();
      await walk.beforeCommit(read);
      await walk.commit(read);
      at = read.to;
      failure = undefined;
      unanswered = 0;
      if (read.to < span.to) return { isDone: true, at };
    }
    context.signal.throwIfAborted();
    return { isDone: at >= walk.end, at, error: failure };
  } finally {
    stop.abort(new Error('the run has ended'));
    await Promise.all(underWay.map(({ reading }) => reading));
  }
}

/** Returns the parts of a span before a moment, the moment, and the part after it. */
function aroundMoment({ from, to }: Span, at: number): Span[] {
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
function momentError({ target }: LogContext, { to }: Span, cause: unknown): Error {
  const { pageBudget } = target.settings.logs;
  const what = `log of account ${target.account}: the moment ${new Date(to).toISOString()} alone cannot be read completely`;
  const fix = `if the daemon's own limit was reached, raise collectors.logs.pageBudget (${pageBudget}) or collectors.logs.timeout`;
  const error = new Error(`${what}, so counting stops there: ${errorMessage(cause)}; ${fix}`, { cause });
  return Object.assign(error, { code: serviceErrorCode(cause) });
}
