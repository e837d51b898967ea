/** Metrics of the daemon's own state at the time of a scrape: collectors, quota, policies, health of the APIs. */
import type { LeaseReadings } from '#foundation/domain/lease-readings.ts';
import type { EngineReadings } from '#foundation/domain/engine-readings.ts';
import type { AccountBudget } from '#foundation/domain/known-budget.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import type { ObservationBoard } from '../observations/board.ts';
import type { Api, EventBus, OpsEvent } from '#foundation/events/events.ts';
import type { ApiHealth } from './api-health.ts';
import type { Families } from './families.ts';
import { collectorPart } from './self-collectors.ts';
import type { SelfPart, SelfSource, StoredPart } from './self-part.ts';
import { leasePart } from './self-leases.ts';
import { ledgerPart, policyPart } from './self-policies.ts';

export interface SelfDeps {
  readonly board: ObservationBoard;
  readonly families: Families;
  readonly health: ApiHealth;
  readonly accounts: readonly {
    readonly name: string;
    readonly apis: readonly Api[];
    readonly requestsPerDay: number;
  }[];
  readonly usage: (account: string, api: Api) => { readonly usedToday: number };
  readonly events: EventBus;
  /** Policies of the configuration. */
  readonly configured: readonly Pick<PolicyStatus, 'account' | 'name'>[];
  readonly policies: () => Promise<readonly PolicyStatus[]>;
  readonly engine: () => Promise<EngineReadings>;
  readonly budgets: () => Promise<ReadonlyMap<string, AccountBudget>>;
  /** Returns the leases; absent if the daemon does not share its store. */
  readonly leases?: () => LeaseReadings;
  readonly onFailure: (source: SelfSource) => void;
}

export interface SelfMetrics extends Disposable {
  /** Updates the metrics, synchronously. */
  refresh(): void;
  /** Reads the facts in the store again, for the next scrapes. Calls at the same time share a reading. */
  readStore(): Promise<void>;
}

/** Events after which the store is read again. Windows and expiries change without events. */
const CHANGES: ReadonlySet<OpsEvent['type']> = new Set([
  'policy.run',
  'action.outcome',
  'campaign.changed',
  'engine.paused',
  'engine.unpaused',
  'engine.recovered',
  'notification',
]);

export function createSelfMetrics(deps: SelfDeps): SelfMetrics {
  const { families } = deps;
  const parts = [collectorPart(deps), quotaPart(deps), leasePart(families, deps.leases)];
  const stored = [policyPart(families, deps), ledgerPart(deps)];
  let isOutdated = false;
  let reading: Promise<void> | undefined;
  const subscription = deps.events.subscribe(({ type }) => {
    if (CHANGES.has(type)) void readStore();
  });

  function refresh({ source, gauges, fill }: SelfPart): void {
    const { put, samples } = families.collect(source);
    try {
      fill(put);
      families.exchange(gauges, samples);
    } catch {
      families.exchange(gauges, new Map());
      deps.onFailure(source);
    }
  }

  async function readPart({ read, ...part }: StoredPart): Promise<void> {
    const fill = await read().catch((error: unknown) => () => {
      throw error;
    });
    refresh({ ...part, fill });
  }

  /** Reads until nothing has changed during the last reading. */
  async function readWhileOutdated(): Promise<void> {
    do {
      // The caller may be in the middle of a change.
      await Promise.resolve();
      isOutdated = false;
      await Promise.all(stored.map(readPart));
    } while (isOutdated);
    reading = undefined;
  }

  async function readStore(): Promise<void> {
    isOutdated = true;
    reading ??= readWhileOutdated();
    return reading;
  }

  return {
    refresh() {
      for (const part of parts) refresh(part);
    },
    readStore,
    [Symbol.dispose]: () => subscription[Symbol.dispose](),
  };
}

/** Creates the gauges of each API of each account: the quota, its used part, and counters that start at 0. */
function quotaPart({ accounts, families, usage }: Pick<SelfDeps, 'accounts' | 'families' | 'usage'>): SelfPart {
  const apisOfAccounts = accounts.flatMap(({ name, apis, requestsPerDay }) =>
    apis.map((api) => ({ labels: { account: name, api }, requestsPerDay })),
  );
  for (const { labels, requestsPerDay } of apisOfAccounts) {
    families.add('opsd_api_throttled_requests_total', labels, 0);
    families.add('opsd_api_throttle_wait_seconds_total', labels, 0);
    families.set('opsd_api_quota_requests', labels, requestsPerDay);
  }
  return {
    source: 'usage',
    gauges: ['opsd_api_quota_used_requests'],
    fill(put) {
      for (const { labels } of apisOfAccounts) {
        put('opsd_api_quota_used_requests', labels, usage(labels.account, labels.api).usedToday);
      }
    },
  };
}
