import type { CollectorContext, CollectorTarget } from '#observe/collectors/collector.ts';
import { collectorsSettings } from '#observe/collectors/settings.ts';
import type { CollectorName } from '#foundation/domain/observation.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { memoryStores } from '../../support/memory-aggregation-stores.ts';

export const ACCOUNT = 'production';

export function target(more: Partial<Omit<CollectorTarget, 'settings'>> & { readonly settings?: unknown } = {}) {
  const { settings = {}, ...rest } = more;
  const made: CollectorTarget = {
    account: ACCOUNT,
    accountId: 'acc-1',
    hasMessageApi: true,
    hasManagementApi: true,
    flowControlKeys: [],
    searchIndexes: [],
    vectorIndexes: [],
    ...rest,
    settings: collectorsSettings.parse(settings),
  };
  return made;
}

export function context<N extends CollectorName>({
  stores = memoryStores(),
  ...more
}: Partial<CollectorContext<N>> = {}): CollectorContext<N> {
  return {
    target: target(),
    clock: new ManualClock(Date.UTC(2026, 10, 20, 10)),
    signal: new AbortController().signal,
    stores,
    admit: (_label, value) => value,
    actedOn: async () => new Map(),
    ...more,
  };
}
