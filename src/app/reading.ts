/** Ports of the reading views of the API and the pages. */
import { configLines, shownConfig } from '#config/shown-config.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { RETIRED } from '#observe/aggregation/totals.ts';
import type { Incidents } from '#operate/api/api-deps.ts';
import { LiveReads } from '#operate/api/live-reads.ts';
import { MessageSearches } from '#operate/api/messages.ts';
import type { ReadingPorts } from '#operate/api/reading-ports.ts';
import type { Generation } from './generation.ts';
import { accountBudgets } from './observation.ts';
import type { DaemonProcess } from './process.ts';
import { servedIncidents } from './incidents.ts';
import { policyTestsOf } from './policy-tests.ts';
import type { Storage } from './storage.ts';
import type { ValueCount } from '#operate/contract/readings.ts';

/** Returns the incidents of a generation for the API. */
export function ownIncidents(generation: Generation, { ledger }: Pick<Storage, 'ledger'>): Incidents {
  return servedIncidents(generation.incidents, { ...generation, ledger });
}

export function readingPorts(
  generation: Generation,
  { storage, options }: Pick<DaemonProcess, 'storage' | 'options'>,
): ReadingPorts {
  const { whole: config, accounts, bodies, canaries, flowControlHistory, stores, attempts } = generation;
  const { totals } = stores;
  return {
    flowControlHistory,
    bodies,
    canaries: { states: () => canaries?.states() ?? [] },
    spend: {
      budgets: (view) => accountBudgets(config, view),
      async dimensions() {
        const names = new Map(
          config.accounts.flatMap(({ name, collectors: { logs } }) =>
            logs.dimension === undefined ? [] : [[name, logs.dimension] as const],
          ),
        );
        if (names.size === 0) return new Map();
        const found = await totals.countersOf([...names.keys()], 'msgsvc_log_events_by_dimension_total');
        return new Map(
          [...names].map(([account, name]) => {
            const rows = found.get(account) ?? [];
            return [account, { name, counts: countsOf(rows.filter(({ labels }) => labels[0] === name)) }];
          }),
        );
      },
    },
    audit: storage.auditReader,
    liveReads: liveReadsOf(options.clock, () => accounts),
    searches: new MessageSearches(),
    failures: (account) => attempts.failures(account),
    configuration() {
      const settings = shownConfig(config);
      return {
        hash: config.hash,
        files: config.files,
        settings,
        yaml: configLines(settings),
        policies: config.policies.map(({ settings: { name }, source }) => ({ name, source })),
        reload: options.reload?.state(),
      };
    },
    async policyScopes(name, view) {
      const policy = generation.allPolicies.find((one) => one.name === name);
      if (policy === undefined) return undefined;
      const version = (await view.policyVersions([name])).get(name);
      return { present: policy.scope, atLastRun: version?.scope };
    },
    policyTests: policyTestsOf(config, options.env),
  };
}

/** Returns the reads of the accounts that this process has a client for. */
export function liveReadsOf(clock: Clock, accounts: () => Generation['accounts']): LiveReads {
  return new LiveReads({
    clock,
    messageApi: (account) => accounts().clients.get(account)?.message,
    usage(account) {
      const present = accounts();
      return present.clients.has(account) ? present.usage(account).find(({ api }) => api === 'message') : undefined;
    },
  });
}

/** Adds up the counts of each value. Values that lost their place are not exported, and left out here as well. */
function countsOf(rows: readonly { readonly labels: readonly string[]; readonly value: number }[]): ValueCount[] {
  const values = new Map<string, Record<string, number>>();
  for (const { labels, value } of rows) {
    const [, name = '', state = ''] = labels;
    if (name === RETIRED) continue;
    const states = values.get(name) ?? {};
    states[state] = (states[state] ?? 0) + value;
    values.set(name, states);
  }
  const sum = ({ states }: ValueCount): number => Object.values(states).reduce((total, count) => total + count, 0);
  return [...values].map(([value, states]) => ({ value, states })).sort((a, b) => sum(b) - sum(a));
}
