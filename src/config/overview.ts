/** Summary of a configuration for `opsd check`: accounts, schedules, and policies. */
import { timing } from '#observe/collectors/settings.ts';
import { COLLECTOR_NAMES, type CollectorName } from '#foundation/domain/observation.ts';
import { leastMode, type PolicyMode } from '#foundation/domain/plan.ts';
import { compilePolicy } from '#automate/policies/compile-policy.ts';
import { whenText } from '#automate/policies/when-text.ts';
import type { Account, Config } from './config.ts';

export interface Overview {
  readonly accounts: readonly {
    readonly name: string;
    readonly messageApiUrl?: string;
    readonly managementApiUrl?: string;
  }[];
  readonly collectors: readonly {
    readonly account: string;
    readonly collector: CollectorName;
    /** Absent if it is off. */
    readonly schedule?: string;
    /** Reason why it is off. */
    readonly off?: string;
  }[];
  readonly policies: readonly {
    readonly name: string;
    readonly account: string;
    readonly mode: PolicyMode;
    /** Most restrictive mode of the policy, its account and the engine. */
    readonly effectiveMode: PolicyMode;
    readonly schedule: string;
    /** `file:line` */
    readonly source: string;
  }[];
}

export function overviewOf(config: Config): Overview {
  return {
    accounts: config.accounts.map(({ name, messageApi, managementApi }) => ({
      name,
      messageApiUrl: messageApi?.url,
      managementApiUrl: managementApi?.url,
    })),
    collectors: config.accounts.flatMap((account) => COLLECTOR_NAMES.map((name) => collectorOf(account, name))),
    policies: config.policies.map(({ settings, source }) => {
      const account = config.accounts.find(({ name }) => name === settings.account);
      return {
        name: settings.name,
        account: settings.account,
        mode: settings.mode,
        effectiveMode: leastMode(settings.mode, config.engine.mode, account?.mode ?? 'enforce'),
        schedule: whenText(compilePolicy(settings, source).when),
        source,
      };
    }),
  };
}

function collectorOf(account: Account, collector: CollectorName): Overview['collectors'][number] {
  const off = whyOff(account, collector);
  const when = off === undefined ? { schedule: timing(collector, account.collectors).describe } : { off };
  return { account: account.name, collector, ...when };
}

/** Requirements of each collector on the account. In the daemon, the collectors themselves decide. */
const NEEDS: Readonly<Record<CollectorName, { readonly api: 'messageApi' | 'managementApi'; readonly list?: List }>> = {
  logs: { api: 'messageApi' },
  accountStats: { api: 'managementApi' },
  flowControl: { api: 'messageApi', list: 'flowControlKeys' },
  workflowDlq: { api: 'messageApi' },
  urlGroups: { api: 'messageApi' },
  searchIndexes: { api: 'managementApi', list: 'searchIndexes' },
  vectorStats: { api: 'managementApi', list: 'vectorIndexes' },
};

export function apiNeeded(collector: CollectorName): 'messageApi' | 'managementApi' {
  return NEEDS[collector].api;
}

type List = 'flowControlKeys' | 'searchIndexes' | 'vectorIndexes';

export function whyOff(account: Account, collector: CollectorName): string | undefined {
  const { api, list } = NEEDS[collector];
  // An embedded service has its own management API.
  const embedded = account.messageApi?.url === 'embedded';
  if (!account.collectors[collector].enabled) return 'disabled';
  if (account[api] === undefined && !embedded) return `no ${api}`;
  if (collector === 'flowControl' && account.collectors.flowControl.discover > 0) return undefined;
  if (list !== undefined && account[list].length === 0) return `no ${list}`;
  return undefined;
}
