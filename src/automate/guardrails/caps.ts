import type { Hold } from '#foundation/domain/hold.ts';
import type { PlanFacts } from './guard.ts';

const WINDOWS_MS: Readonly<Record<string, number>> = { hour: 3_600_000, day: 86_400_000 };

/** Applies the smallest limit; allowed entries above it are left for later runs. */
export function caps({ matched, maxPerRun, caps }: PlanFacts): { readonly allowed: number; readonly hold?: Hold } {
  let allowed = Math.min(matched, maxPerRun);
  let hold: Hold = {
    measured: `${matched} entries are allowed`,
    needed: `a run acts on at most ${maxPerRun}`,
    remedy: 'wait: later runs do the rest',
  };
  for (const { scope, window, used, limit, why, until, trend } of caps) {
    // A value that is not a number leaves no room.
    const room = limit - used > 0 ? limit - used : 0;
    if (room > allowed || (room === allowed && (hold.windowMs === undefined || !isLater(until, hold.until)))) continue;
    allowed = room;
    const windowMs = WINDOWS_MS[window];
    hold = {
      measured: why ?? `${scope} ${window}: ${used} of ${limit} used`,
      needed: 'each action needs a free place in every cap',
      ...(windowMs !== undefined && { windowMs }),
      ...(trend !== undefined && { trend }),
      ...(until !== undefined && { until }),
      remedy: why === undefined ? 'wait: later runs do the rest' : 'adopt the store, or restore the right one',
    };
  }
  return allowed < matched ? { allowed, hold } : { allowed };
}

/** Returns true if a cap with this end holds longer. The end of a cap that is not full is unknown. */
function isLater(until = Infinity, other = Infinity): boolean {
  return until > other;
}
