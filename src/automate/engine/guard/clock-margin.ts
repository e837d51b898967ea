/** Margin for stored times, which another replica may have read from its own clock. */
import { CLOCK_MARGIN_MS } from '#foundation/domain/clock-skew.ts';
import type { EngineDeps } from '../facts/engine-deps.ts';

/** Returns how much later than `at` something with this time can have happened, in milliseconds. */
export function clockMargin(at: number, { shared, facts }: Pick<EngineDeps, 'shared' | 'facts'>): number {
  return shared === undefined || at >= facts.steadySince() ? 0 : CLOCK_MARGIN_MS;
}
