/**
 * Width of the next log windows, learned from windows that were read and from windows that broke off. The target is
 * half of a window's limits, so that a denser part of the log still fits. The width grows slowly and shrinks fast.
 */

/** Number of windows read in parallel while catching up. */
export const AT_ONCE = 4;

/** Limits of one window. */
export interface WindowLimits {
  /** Pages of the longest listing in the window. */
  readonly pages: number;
  /** Milliseconds until the last page is requested. */
  readonly ms: number;
}

/** Cost of reading a window, to its end or not. */
export interface WindowCost {
  /** Milliseconds of log, including both borders. */
  readonly widthMs: number;
  /** Pages received in all listings of the window. */
  readonly pages: number;
  /** Pages of the longest listing in the window. */
  readonly longest: number;
  /** Duration of the reading in milliseconds. */
  readonly tookMs: number;
}

export interface BrokenCost extends WindowCost {
  /** Milliseconds between the oldest and the newest entry received. In a log that is listed by time, this much fits. */
  readonly coveredMs: number;
  /** True if the window reached its limits, false if a request failed. */
  readonly isFull: boolean;
  /** True if a response did not arrive in time. */
  readonly isTimeout: boolean;
}

/** Growth factor of an easily read window. */
const GROWTH = 1.5;
/** Divisor for a window that reached its limits: it may exceed them by far. */
const FULL_SHRINKAGE = 4;
const FAILED_SHRINKAGE = 2;
/**
 * Divisor for a failure before the first page. Such a failure rarely depends on the width, unless it is a timeout of a
 * width that was not read in this run.
 */
const UNANSWERED_SHRINKAGE = 1.1;

export class Pace {
  readonly limits: WindowLimits;
  #widthMs: number;
  #pages: number;
  #isProven: boolean;
  /** Width of the last window that was completely read in this run. */
  #readMs = 0;

  /** @param widthMs width learned by an earlier run; default: the first window covers the whole unread log */
  constructor(limits: WindowLimits, widthMs = Infinity) {
    this.limits = limits;
    this.#widthMs = widthMs;
    this.#pages = limits.pages / 2;
    this.#isProven = Number.isFinite(widthMs);
  }

  /** Milliseconds that the next window should cover, at least 1. */
  get widthMs(): number {
    return this.#widthMs;
  }

  /** Expected number of pages of the next window. */
  get pages(): number {
    return this.#pages;
  }

  /** True if windows of this width are known to be readable. */
  get isProven(): boolean {
    return this.#isProven;
  }

  /** Learns from a completely read window. */
  learn({ widthMs, pages, longest, tookMs }: WindowCost): void {
    const fit = Math.min(this.limits.pages / 2 / longest, this.limits.ms / 2 / Math.max(1, tookMs));
    this.#pages = pages * GROWTH;
    this.#isProven = true;
    this.#readMs = widthMs;
    if (fit < 1) this.#widthMs = atLeastOne(widthMs * fit);
    else {
      const known = Number.isFinite(this.#widthMs) ? this.#widthMs : 0;
      this.#widthMs = Math.max(known, Math.ceil(widthMs * Math.min(fit, GROWTH)));
    }
  }

  /** Learns from a window that broke off. */
  shrink({ widthMs, pages, longest, coveredMs, isFull, isTimeout }: BrokenCost): void {
    this.#isProven = false;
    if (pages === 0 && !isTimeout) {
      this.#widthMs = atLeastOne((Number.isFinite(this.#widthMs) ? this.#widthMs : widthMs) / UNANSWERED_SHRINKAGE);
      return;
    }
    const fitting = coveredMs > 0 ? coveredMs * Math.min(1, this.limits.pages / 2 / longest) : Infinity;
    const smaller = Math.min(widthMs / (isFull ? FULL_SHRINKAGE : FAILED_SHRINKAGE), fitting);
    const floor = pages === 0 ? this.#readMs / UNANSWERED_SHRINKAGE : 0;
    this.#widthMs = atLeastOne(Math.min(this.#widthMs, Math.max(smaller, floor)));
  }
}

function atLeastOne(ms: number): number {
  return Math.max(1, Math.floor(ms));
}
