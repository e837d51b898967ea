import type { Hold } from '#foundation/domain/hold.ts';
import type { RaiseFacts } from './guard.ts';

/** Requires several readings that agree, since one may be wrong, unless an operator approved the plan. */
export function confirmation({
  unconfirmed,
  isApproved,
}: RaiseFacts): { readonly verdict: 'hold'; readonly hold: Hold } | undefined {
  if (unconfirmed === undefined || isApproved) return undefined;
  const { readings, needed, apart, windowMs, until } = unconfirmed;
  return {
    verdict: 'hold',
    hold: {
      measured: `reading ${readings} of ${needed}`,
      needed: `they must agree and be ${apart} apart`,
      windowMs,
      until,
      remedy: 'wait for the next readings',
    },
  };
}
