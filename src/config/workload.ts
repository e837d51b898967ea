/**
 * Estimated load of a configuration on the service: calls and bytes a day, from its schedules and an assumed traffic.
 * It is an upper estimate for that traffic: each read counts a last page that is not full. It excludes actions and
 * their verification, retries, and catching up after an outage.
 */
import { timing } from '#observe/collectors/settings.ts';
import { COLLECTOR_NAMES, type CollectorName } from '#foundation/domain/observation.ts';
import { leastMode, type PolicyMode } from '#foundation/domain/plan.ts';
import { compilePolicy } from '#automate/policies/compile-policy.ts';
import { runsPerDay } from '#foundation/settings/schedule.ts';
import { canaryCosts } from './canary-workload.ts';
import type { Account, Config } from './config.ts';
import { apiNeeded, whyOff } from './overview.ts';

/** Traffic of each account. */
export interface Traffic {
  readonly messagesPerDay: number;
  /** Number of runs in the workflow DLQ. */
  readonly failedRuns: number;
}

export interface Load {
  readonly account: string;
  readonly api: 'message' | 'management';
  /** Collector, policy, or canary. */
  readonly reader: string;
  readonly runsPerDay: number;
  readonly callsPerDay: number;
  readonly bytesPerDay: number;
}

const DAY_MS = 86_400_000;
const PAGE = 100;

/** Assumptions for every account, shown with the estimate. Sizes are of JSON in responses, in bytes. */
export const ASSUMED = {
  entriesPerMessage: 4,
  entryBytes: 1_000,
  failedRunBytes: 1_500,
  flowControlBytes: 350,
  urlGroups: 20,
  urlGroupBytes: 500,
  accountStatsBytes: 60_000,
  vectorStatsBytes: 80_000,
  searchIndexBytes: 8_000,
} as const;

/** Size of an empty page. */
const PAGE_BYTES = 100;
/** Size of the log of one message. */
export const LOG_BYTES = PAGE_BYTES + ASSUMED.entriesPerMessage * ASSUMED.entryBytes;
/** Points are compared with their day once an hour, with an extra read. */
const POINT_CHECKS_PER_DAY = 24;

interface Calls {
  readonly calls: number;
  readonly bytes: number;
}

export function workload(config: Config, traffic: Traffic): readonly Load[] {
  const collectors = config.accounts.flatMap((account) =>
    COLLECTOR_NAMES.filter((name) => whyOff(account, name) === undefined).map((name): Load => {
      const runs = runsPerDay(timing(name, account.collectors).schedule);
      const { calls, bytes } = CALLS[name](account, runs, traffic);
      return {
        account: account.name,
        api: apiNeeded(name) === 'messageApi' ? 'message' : 'management',
        reader: name,
        runsPerDay: runs,
        callsPerDay: Math.ceil(calls),
        bytesPerDay: Math.ceil(bytes),
      };
    }),
  );
  const policies = config.policies
    // The other actions list nothing: they act on known data.
    .filter(({ settings }) => settings.select.resource === 'workflow-dlq')
    .filter(({ settings }) => leastMode(settings.mode, config.engine.mode, modeOf(config, settings.account)) !== 'off')
    .map(({ settings, source }): Load => {
      const { when } = compilePolicy(settings, source);
      // Alerts, callbacks and manual runs are rare.
      const runs = 'every' in when || 'cron' in when ? runsPerDay(when) : 0;
      const { calls, bytes } = listings(runs, traffic.failedRuns, ASSUMED.failedRunBytes);
      return {
        account: settings.account,
        api: 'message',
        reader: `policy ${settings.name}`,
        runsPerDay: runs,
        callsPerDay: Math.ceil(calls),
        bytesPerDay: Math.ceil(bytes),
      };
    });
  const canaries = canaryCosts(config, LOG_BYTES).map(
    ({ account, canary, sentPerDay, requestsPerDay, bytesPerDay }): Load => ({
      account,
      api: 'message',
      reader: `canary ${canary}`,
      runsPerDay: sentPerDay,
      callsPerDay: requestsPerDay,
      bytesPerDay,
    }),
  );
  return [...collectors, ...policies, ...canaries];
}

function modeOf(config: Config, account: string): PolicyMode {
  return config.accounts.find(({ name }) => name === account)?.mode ?? 'enforce';
}

/** Reads page by page, each of `rows` rows. */
function listings(readings: number, rows: number, rowBytes: number): Calls {
  const calls = readings * (1 + rows / PAGE);
  return { calls, bytes: calls * PAGE_BYTES + readings * rows * rowBytes };
}

/** Reads of `things` objects, with one request for each. */
function each(readings: number, things: number, bytes: number): Calls {
  return { calls: readings * things, bytes: readings * things * bytes };
}

const CALLS: { readonly [N in CollectorName]: (account: Account, runs: number, traffic: Traffic) => Calls } = {
  logs({ collectors }, runs, { messagesPerDay }) {
    const { sweep } = collectors.logs;
    const entries = messagesPerDay * ASSUMED.entriesPerMessage;
    const first = listings(runs, entries / runs, ASSUMED.entryBytes);
    // Late entries are found by reading everything again several times.
    const sweeps = Math.min(runs, DAY_MS / sweep.every);
    const swept = entries * (sweep.reach / DAY_MS + 1 / sweeps);
    const again = listings(sweeps, swept, ASSUMED.entryBytes);
    return { calls: first.calls + again.calls, bytes: first.bytes + again.bytes };
  },
  accountStats: (_account, runs) => each(runs + Math.min(runs, POINT_CHECKS_PER_DAY), 1, ASSUMED.accountStatsBytes),
  flowControl({ flowControlKeys, collectors }, runs) {
    return each(runs, new Set(flowControlKeys).size + collectors.flowControl.discover, ASSUMED.flowControlBytes);
  },
  workflowDlq({ collectors }, runs, { failedRuns }) {
    const whole = Math.min(runs, DAY_MS / collectors.workflowDlq.full + 1);
    const listed = listings(whole, failedRuns, ASSUMED.failedRunBytes);
    const rest = listings(runs - whole, 0, 0);
    return { calls: listed.calls + rest.calls, bytes: listed.bytes + rest.bytes };
  },
  urlGroups: (_account, runs) => each(runs, 1, ASSUMED.urlGroups * ASSUMED.urlGroupBytes),
  searchIndexes: ({ searchIndexes }, runs) => each(runs, new Set(searchIndexes).size, ASSUMED.searchIndexBytes),
  vectorStats: ({ vectorIndexes }, runs) => each(runs, new Set(vectorIndexes).size, ASSUMED.vectorStatsBytes),
};
