/**
 * Width of the next windows of the log, learned from the windows that were read and from those that broke off. A window
 * is sized to half of its limits, so that a denser stretch of the log still fits. It grows slowly, and shrinks fast.
 */

/** Windows that are read at the same time, when there is much to catch up. */
export const AT_ONCE = 4;

/** Limits of one window. */
export interface WindowLimits {
  /** Pages of its longest listing. */
  readonly pages: number;
  /** Milliseconds until the last page is requested. */
  readonly ms: number;
}

/** How reading a window went, to its end or not. */
export interface WindowCost {
  /** Milliseconds of log, both borders included. */
  readonly widthMs: number;
  /** Pages that came, of all its listings. */
  readonly pages: number;
  /** Pages of its longest listing. */
  readonly longest: number;
  /** Milliseconds that it took. */
  readonly tookMs: number;
}

export interface BrokenCost extends WindowCost {
  /** Milliseconds between the oldest and the newest entry that came: what fits, in a log that is listed by time. */
  readonly coveredMs: number;
  /** Whether it broke off at its limits, and not by a failure. */
  readonly isFull: boolean;
}

/** Factor by which a window that was easy to read is widened. */
const GROWTH = 1.5;
/** A window that reached its limits may be wider than them by far. */
const FULL_SHRINKAGE = 4;
const FAILED_SHRINKAGE = 2;
/** A failure before the first page seldom depends on the width, where that width was read before in this run. */
const UNANSWERED_SHRINKAGE = 1.1;

export class Pace {
  readonly limits: WindowLimits;
  #widthMs: number;
  #pages: number;
  #isProven: boolean;
  /** Width of the last window that was read to its end in this run. */
  #readMs = 0;

  /** @param widthMs what an earlier run learned; without it the first window is as wide as the log that is to be read */
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

  /** Pages that the next window is expected to have. */
  get pages(): number {
    return this.#pages;
  }

  /** Whether windows of this width can be read, as far as is known. */
  get isProven(): boolean {
    return this.#isProven;
  }

  /** Takes a window that was read to its end. */
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

  /** Takes a window that broke off. */
  shrink({ widthMs, pages, longest, coveredMs, isFull }: BrokenCost): void {
    const fitting = coveredMs > 0 ? coveredMs * Math.min(1, this.limits.pages / 2 / longest) : Infinity;
    const smaller = Math.min(widthMs / (isFull ? FULL_SHRINKAGE : FAILED_SHRINKAGE), fitting);
    const floor = pages === 0 ? this.#readMs / UNANSWERED_SHRINKAGE : 0;
    this.#widthMs = atLeastOne(Math.min(this.#widthMs, Math.max(smaller, floor)));
    this.#isProven = false;
  }
}

function atLeastOne(ms: number): number {
  return Math.max(1, Math.floor(ms));
}
