/**
 * Totals of a month folded into a counter by their increases. A total begins anew with its month: then the new value
 * is the increase. Any other fall is a correction, which a counter cannot follow: it is counted, and the total adds
 * nothing more until it has passed what it was.
 */
import { monthOf, startOfMonth } from '#foundation/domain/utc-month.ts';

const HOUR_MS = 3_600_000;
/** A total may begin anew by the clock of another zone, or late. */
const TURNS_BEFORE_MS = 14 * HOUR_MS;
const TURNS_WITHIN_MS = 36 * HOUR_MS;

export interface MonthState {
  /** The highest value read of its month. */
  readonly value: number;
  /** The last value read. */
  readonly read: number;
  /** Epoch milliseconds when it was read. */
  readonly at: number;
  /** The month it belongs to, counted from the year 0. */
  readonly month: number;
  /** The last value may have been of a new month: the next one confirms it. */
  readonly mayHaveTurned?: true;
}

export interface MonthReading {
  readonly value: number;
  /** Epoch milliseconds of the service's clock. */
  readonly at: number;
  /** The month that the answer is about, where it says so. */
  readonly month?: number;
}

export interface MonthFolded {
  readonly state: MonthState;
  readonly increase: number;
  readonly corrected: boolean;
}

/** The first reading adds nothing: history is not a spike. */
export function foldMonth(state: MonthState | undefined, reading: MonthReading): MonthFolded {
  const { value, at } = reading;
  const begin = (month: number): MonthState => ({ value, read: value, at, month });
  if (state === undefined) {
    // Read soon after a turn, it may still be of the month before.
    return { state: begin(reading.month ?? monthOf(at - TURNS_WITHIN_MS)), increase: 0, corrected: false };
  }
  if (isOfMonthBefore(state, reading)) return { state, increase: 0, corrected: false };
  const turned = turnOf(state, reading);
  if (turned.how === 'turned') return { state: begin(turned.month), increase: value, corrected: false };
  if (turned.how === 'unsure') return { state: { ...state, mayHaveTurned: true }, increase: 0, corrected: false };
  return {
    state: { value: Math.max(value, state.value), read: value, at, month: turned.month },
    increase: Math.max(0, value - state.value),
    corrected: value < state.read,
  };
}

/** Answers may come from machines of which one is behind: soon after a turn the month before is no news. */
function isOfMonthBefore(state: MonthState, { at, month }: MonthReading): boolean {
  if (month === undefined || month >= state.month) return false;
  const begins = startOfMonth(state.month);
  return at >= begins - TURNS_BEFORE_MS && at < begins + TURNS_WITHIN_MS;
}

interface Turn {
  readonly how: 'turned' | 'same' | 'unsure';
  readonly month: number;
}

function turnOf(state: MonthState, { value, at, month }: MonthReading): Turn {
  const same: Turn = { how: 'same', month: state.month };
  if (month !== undefined) return month > state.month ? { how: 'turned', month } : same;
  const next = monthOf(at + TURNS_BEFORE_MS);
  if (next <= state.month) return same;
  const begins = startOfMonth(next);
  const isPast = at >= begins + TURNS_WITHIN_MS;
  // Long past: it turned while nobody looked, or without a fall that could be seen.
  if (isPast && state.at < begins - TURNS_BEFORE_MS) return { how: 'turned', month: next };
  if (isPast && state.at < begins && value < state.value) return { how: 'turned', month: next };
  // Around the turn a total that reads as much as before has not begun anew, and a small fall is a correction.
  if (value >= state.value || value > state.value / 2) return isPast ? { how: 'same', month: next } : same;
  return { how: state.mayHaveTurned === true ? 'turned' : 'unsure', month: next };
}
