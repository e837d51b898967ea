/**
 * Aggregates monthly totals into a counter by their increases. A total is reset at the start of its month; the new value is
 * then the increase. Any other decrease is a correction, which a counter cannot follow. The correction is counted, and
 * the counter does not grow until the total exceeds its previous maximum.
 */
import { monthOf, startOfMonth } from '#foundation/domain/utc-month.ts';

const HOUR_MS = 3_600_000;
/** Time around the turn of a month when a total may be reset, because of time zones or lag. */
const TURNS_BEFORE_MS = 14 * HOUR_MS;
const TURNS_WITHIN_MS = 36 * HOUR_MS;

export interface MonthState {
  /** Highest value read in the month. */
  readonly value: number;
  /** Last value read. */
  readonly read: number;
  /** Epoch milliseconds of the last reading. */
  readonly at: number;
  /** Month of the total, counted from the year 0. */
  readonly month: number;
  /** True if the last value may be of a new month. The next value confirms it. */
  readonly mayHaveTurned?: true;
}

export interface MonthReading {
  readonly value: number;
  /** Epoch milliseconds of the service's clock. */
  readonly at: number;
  /** Month of the response, if it names one. */
  readonly month?: number;
}

export interface MonthAggregate {
  readonly state: MonthState;
  readonly increase: number;
  readonly corrected: boolean;
}

/** Aggregates a reading. The first reading adds nothing: history is not a spike. */
export function aggregateMonth(state: MonthState | undefined, reading: MonthReading): MonthAggregate {
  const { value, at } = reading;
  const begin = (month: number): MonthState => ({ value, read: value, at, month });
  if (state === undefined) {
    // Soon after a turn, the total may still be the previous month's.
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

/**
 * Returns true if the reading is of the previous month. Responses may come from machines of different progress: soon
 * after a turn, such a reading is not news.
 */
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
  // Well after the turn: the total was reset while the daemon was not reading, or without a visible decrease.
  if (isPast && state.at < begins - TURNS_BEFORE_MS) return { how: 'turned', month: next };
  if (isPast && state.at < begins && value < state.value) return { how: 'turned', month: next };
  // Around the turn, a total that did not fall was not reset, and a small decrease is a correction.
  if (value >= state.value || value > state.value / 2) return isPast ? { how: 'same', month: next } : same;
  return { how: state.mayHaveTurned === true ? 'turned' : 'unsure', month: next };
}
