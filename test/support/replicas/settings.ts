/** Configuration of the replicas of a campaign. */
import { TEST_TOKEN } from '../service.ts';

export const MAX_ATTEMPTS = 2;
/** Label of messages that policies prune. */
export const OLD = 'newsletter';
/** Label of runs that policies resume. */
export const FAILED = 'billing';

export interface CampaignAccount {
  readonly name: string;
  readonly token: string;
  /** Maximum number of actions of each of its policies in an hour. */
  readonly perHour: number;
  readonly prunes: boolean;
}

/** Returns accounts. Every third one has a limit that it reaches. */
export function campaignAccounts(count: number): readonly CampaignAccount[] {
  return Array.from({ length: count }, (_, at) => ({
    name: `acc-${String(at + 1).padStart(2, '0')}`,
    token: `${TEST_TOKEN}-${at + 1}`,
    perHour: at % 3 === 0 ? 3 : 1_000,
    prunes: at % 4 === 1,
  }));
}

export interface ReplicaSettings {
  readonly listen: string;
  /** YAML of the store. */
  readonly storage: string;
  readonly accounts: readonly CampaignAccount[];
  /** Address of the service for an account. */
  readonly urlOf: (account: CampaignAccount) => string;
  /** Maximum number of actions of all policies in an hour, and in a day. */
  readonly perHour: number;
  readonly requestMs: number;
}

export function replicaConfig({ listen, storage, accounts, urlOf, perHour, requestMs }: ReplicaSettings): string {
  // All replicas share the machine of the test: with more accounts, each of them is read less often.
  const pace = Math.max(1, accounts.length / 20);
  const every = (seconds: number): string => `${seconds * pace}s`;
  const account = (one: CampaignAccount) => ({
    name: one.name,
    messageApi: { url: urlOf(one), token: one.token },
    client: { requestsPerSecond: 100, timeout: `${requestMs}ms` },
    collectors: {
      logs: { every: every(2), lag: '1s', sweep: { every: every(5), reach: every(10) } },
      workflowDlq: { every: every(2), full: every(10) },
      flowControl: { enabled: false },
      urlGroups: { enabled: false },
    },
  });
  const policies = accounts.flatMap((one) => [
    {
      name: `resume-${one.name}`,
      account: one.name,
      mode: 'enforce',
      every: every(3),
      select: { resource: 'workflow-dlq', anyLabel: [FAILED] },
      action: { type: 'workflow-dlq.resume', retries: 0 },
      ramp: { start: 2, settle: '1s' },
      limits: {
        maxPerHour: one.perHour,
        maxPerDay: one.perHour,
        attempts: { max: MAX_ATTEMPTS, backoff: ['1s'] },
      },
    },
    ...(one.prunes ? [pruneOf(one, every(3))] : []),
  ]);
  // JSON is YAML.
  return [
    `server: { listen: "${listen}" }`,
    `storage: ${storage}`,
    'log: { level: debug }',
    'telemetry: { metrics: { newSeriesZeroFor: 0s, debug: true } }',
    `engine: ${JSON.stringify({ caps: { perHour, perDay: perHour } })}`,
    `accounts: ${JSON.stringify(accounts.map(account))}`,
    `policies: ${JSON.stringify(policies)}`,
  ].join('\n');
}

function pruneOf({ name, perHour }: CampaignAccount, every: string): object {
  return {
    name: `prune-${name}`,
    account: name,
    mode: 'enforce',
    every,
    select: { resource: 'message-dlq', anyLabel: [OLD], failedBefore: '2h' },
    action: { type: 'message-dlq.prune' },
    limits: { maxPerHour: perHour, maxPerDay: perHour, maxPerRun: 1 },
  };
}
