/**
 * A walk through a stretch of the log, window by window. Windows of different times are read at the same time and
 * committed in order. A window that breaks off is cut smaller and read again; the windows after it are kept.
 */
import type { LogContext, Span, WindowBroken, WindowRead } from './log-window.ts';
import { AT_ONCE, type Pace } from './log-pace.ts';
import { serviceErrorCode } from '#foundation/domain/service-error.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { TimeoutError } from '#foundation/platform/sleep.ts';
import type { PageBudget } from './listing.ts';

/** Failures after which no smaller window is tried in the same run: others ask for fewer requests, or it cannot help. */
const ENDING: ReadonlySet<string | undefined> = new Set(['rate_limited', 'budget', undefined]);

export interface Walk {
  /** Epoch milliseconds; both are included. */
  readonly from: number;
  readonly end: number;
  readonly pace: Pace;
  readonly budget: PageBudget;
  /** Pages of the budget that are left to others. */
  readonly reserve: number;
  /** No window is begun after this moment of the monotonic clock. */
  readonly until: number;
  /** Reads a window; never rejects. One that cannot be divided has no limits of its own. */
  readonly read: (
    span: Span,
    options: { signal: AbortSignal; isLimited: boolean },
  ) => Promise<WindowRead | WindowBroken>;
  /** Called before the commit, while further windows are requested. */
  readonly beforeCommit: (read: WindowRead) => Promise<void>;
  readonly commit: (read: WindowRead) => void;
  /** Called when a window broke off; the pace has shrunk. */
  readonly onBroken: () => void;
}

export interface Walked {
  /** Whether the end was reached, or as much of it as the service has. */
  readonly isDone: boolean;
  /** Epoch milliseconds: committed up to here. */
  readonly at: number;
  /** Why the walk ended early; absent when its pages or its time ran out. */
  readonly error?: unknown;
}

interface UnderWay {
  readonly span: Span;
  readonly reading: Promise<WindowRead | WindowBroken>;
}

/** @throws the signal's reason once it is aborted; what was committed stays */
export async function walkLog(context: LogContext, walk: Walk): Promise<Walked> {
  const stop = new AbortController();
  const signal = AbortSignal.any([context.signal, stop.signal]);
  const { pace, budget } = walk;
  /** Spans that nobody reads yet, and windows that are being read; each oldest first. */
  const todo: Span[] = walk.from < walk.end ? [{ from: walk.from, to: walk.end }] : [];
  const underWay: UnderWay[] = [];
  let at = walk.from;
  /** Failure of the service since the last commit. */
  let failure: unknown;

  /** The moment at which the walk begins was counted before, and comes on top. */
  const isFirst = (span: Span): boolean => span.from === walk.from;
  /** Whether a window cannot be divided: it has one moment of its own. */
  const isMoment = (span: Span): boolean => span.to - span.from <= (isFirst(span) ? 1 : 0);

  /** Whether the oldest window that is not committed is not being read. */
  const lacksOldest = (): boolean =>
    todo.length > 0 && (underWay.length === 0 || todo[0]!.from < underWay[0]!.span.from);

  /** Requests windows, oldest first, as long as there are pages and time for them. */
  const request = (): void => {
    // Several windows that are all too wide waste the pages of the run.
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
        if (!aborted || reason instanceof TimeoutError) {
          pace.shrink(read);
          walk.onBroken();
        }
        if (aborted) break;
        const { error, pages, isFull } = read;
        if (isMoment(span) && pages > 0) return { isDone: false, at, error: momentError(context, span, error) };
        if (!isFull) failure = error;
        else if (budget.left <= walk.reserve) return { isDone: false, at, error: failure };
        // A smaller window is worth a request in the same run only where the service answers and wants to be asked.
        if (pages === 0 || (!isFull && ENDING.has(serviceErrorCode(error)))) return { isDone: false, at, error };
        todo.unshift(span);
        request();
        continue;
      }
      // The service's clock is behind ours, so there is no more to read now.
      if (read.to < span.from) return { isDone: true, at };
      pace.learn(read);
      request();
      await walk.beforeCommit(read);
      walk.commit(read);
      at = read.to;
      failure = undefined;
      if (read.to < span.to) return { isDone: true, at };
    }
    context.signal.throwIfAborted();
    return { isDone: at >= walk.end, at, error: failure };
  } finally {
    stop.abort(new Error('the run has ended'));
    await Promise.all(underWay.map(({ reading }) => reading));
  }
}

/** Returns why counting waits at a moment: its entries cannot be divided further. */
function momentError({ target }: LogContext, { to }: Span, cause: unknown): Error {
  const { pageBudget } = target.settings.logs;
  const what = `log of account ${target.account}: the moment ${new Date(to).toISOString()} alone cannot be read to its end`;
  const fix = `if the limit is the daemon's own, raise collectors.logs.pageBudget (${pageBudget}) or collectors.logs.timeout`;
  const error = new Error(`${what}, and counting waits there: ${errorMessage(cause)}; ${fix}`, { cause });
  return Object.assign(error, { code: serviceErrorCode(cause) });
}
