/** Leases of the accounts. They are absent if the daemon does not share its store. */
import type { LeaseReadings } from '#foundation/domain/lease-readings.ts';
import type { Families } from './families.ts';
import type { SelfPart } from './self-part.ts';
import { flag } from './values.ts';

/** @param read undefined if the daemon does not share its store */
export function leasePart(families: Families, read: (() => LeaseReadings) | undefined): SelfPart {
  /** Takeovers that are counted, by account. */
  const counted = new Map<string, number>();

  return {
    source: 'store',
    gauges: ['opsd_lease_owner', 'opsd_lease_epoch', 'opsd_accounts_unowned'],
    fill(put) {
      if (read === undefined) return;
      const { accounts, unowned } = read();
      for (const { account, isOwn, epoch, takeovers } of accounts) {
        put('opsd_lease_owner', { account }, flag(isOwn));
        put('opsd_lease_epoch', { account }, epoch);
        families.add('opsd_lease_takeovers_total', { account }, takeovers - (counted.get(account) ?? 0));
        counted.set(account, takeovers);
      }
      if (unowned !== undefined) put('opsd_accounts_unowned', {}, unowned);
    },
  };
}
