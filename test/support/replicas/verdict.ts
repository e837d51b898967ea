/** Checks at the end of a campaign: what the service received and logged against what the replicas recorded. */
import { expect } from 'vitest';
import { parseExposition } from '../exposition.ts';
import { logTruth, toldByMetrics } from '../log-truth.ts';
import { logsUntil } from '../service.ts';
import type { Action } from './actions-record.ts';
import type { LeaseChange } from './database-server.ts';
import type { Arrival } from './replica-host.ts';
import { MAX_ATTEMPTS, type CampaignAccount } from './settings.ts';
import type { World } from './world.ts';

export interface IntentRow {
  readonly account: string;
  readonly action: string;
  readonly target: string;
  readonly active: number;
  readonly outcome: string | null;
}

/** Intents with their last outcome. */
export const INTENTS = `SELECT account, action, target, active::int AS active,
    (SELECT outcome FROM outcomes WHERE intent_id = intents.id ORDER BY id DESC LIMIT 1) AS outcome
  FROM intents ORDER BY id`;

const WITHOUT_EFFECT = new Set<string | null>(['rejected', 'confirmed_not_applied']);

/** Checks all metrics of the log against the log itself, account by account. */
export async function judgeLog({ accounts, hosts, emulator, begunAt }: World): Promise<number> {
  const texts = await Promise.all(hosts.map(async ({ url }) => (await fetch(`${url}/metrics`)).text()));
  let entries = 0;
  for (const { name, token } of accounts) {
    const rows = await logsUntil({ url: emulator.url, token }, emulator.control.clock().now + 60_000);
    const counted = rows.filter(({ time }) => time >= begunAt);
    entries += counted.length;
    const lines = texts.flatMap((text) => text.split('\n').filter((line) => line.includes(`account="${name}"`)));
    expect(toldByMetrics(parseExposition(lines.join('\n'))), name).toEqual(logTruth(counted.toReversed()));
  }
  return entries;
}

/** Checks what the service received against the limits and the ledger. */
export function judgeActions(
  actions: readonly Action[],
  intents: readonly IntentRow[],
  { accounts, perHour }: { readonly accounts: readonly CampaignAccount[]; readonly perHour: number },
) {
  const resumes = actions.filter(({ path }) => path.startsWith('/v2/workflows/dlq/resume'));
  const prunes = actions.filter(({ path }) => path.startsWith('/v2/dlq?'));
  expect(resumes.length + prunes.length).toBe(actions.length);
  const claims = Map.groupBy(intents, ({ account, target }) => `${account} ${target}`);
  for (const [key, same] of Map.groupBy(resumes, (one) => `${one.account} ${idOf(one)}`)) {
    const own = claims.get(key) ?? [];
    const done = same.filter(isDone);
    expect(done.length, `resumes of ${key}`).toBeLessThanOrEqual(1);
    expect(same.length, `requests for ${key}, of so many intents`).toBeLessThanOrEqual(own.length);
    const active = own.filter((intent) => intent.active === 1).length;
    expect(active, `active claims of ${key}`).toBe(done.length === 1 ? 1 : Math.min(active, 1));
  }
  for (const [lineage, same] of Map.groupBy(resumes.filter(isDone), lineageOf)) {
    expect(same.length, `resumes of ${lineage}`).toBeLessThanOrEqual(MAX_ATTEMPTS);
  }
  const all: Action[] = [];
  for (const { name, perHour: limit } of accounts) {
    for (const [what, sent] of [
      ['resumes', resumes],
      ['prunes', prunes],
    ] as const) {
      const done = sent.filter((one) => isDone(one) && one.account === name);
      all.push(...done);
      expect(itemsOf(done), `${what} of ${name}`).toBeLessThanOrEqual(limit);
    }
  }
  expect(itemsOf(all), 'actions of all policies').toBeLessThanOrEqual(perHour);
  expect(prunes.length).toBeLessThanOrEqual(intents.filter(({ action }) => action === 'message-dlq.prune').length);
  for (const { account, action, target, active, outcome } of intents) {
    expect(active === 1, `${action} of ${account} ${target} ended as ${outcome}`).toBe(!WITHOUT_EFFECT.has(outcome));
    expect(outcome, `${action} of ${account} ${target}`).not.toBeOneOf([null, 'unknown']);
  }
  const outcomes: Record<string, number> = {};
  for (const { outcome } of intents) outcomes[outcome ?? 'none'] = (outcomes[outcome ?? 'none'] ?? 0) + 1;
  return {
    requests: actions.length,
    intents: intents.length,
    resumed: resumes.filter(isDone).length,
    pruned: itemsOf(prunes.filter(isDone)),
    outcomes,
  };
}

/** Checks that each epoch had one owner, and that only owners sent requests of actions. */
export function judgeLeases(changes: readonly LeaseChange[], writes: readonly Arrival[]): number {
  const byAccount = Map.groupBy(changes, ({ account }) => account);
  for (const [account, history] of byAccount) {
    const owners = new Map<number, string>();
    let last = 0;
    for (const { epoch, owner } of history) {
      expect(epoch, `epochs of ${account}`).toBeGreaterThanOrEqual(last);
      last = epoch;
      if (owner === null) continue;
      expect(owners.get(epoch) ?? owner, `owners of ${account} with epoch ${epoch}`).toBe(owner);
      owners.set(epoch, owner);
    }
  }
  for (const { account, replica, at } of writes) {
    const owner = byAccount.get(account)?.findLast((change) => change.at <= at)?.owner;
    expect(owner?.split('/')[0], `owner of ${account} when ${replica} sent an action`).toBe(replica);
  }
  return changes.length;
}

function isDone({ status }: Action): boolean {
  return status === 200;
}

function itemsOf(actions: readonly Action[]): number {
  return actions.reduce((sum, one) => sum + Number(queryOf(one).get('count') ?? 1), 0);
}

function idOf(action: Action): string {
  return queryOf(action).getAll('dlqIds').join();
}

function queryOf({ path }: Action): URLSearchParams {
  return new URL(path, 'http://service').searchParams;
}

function lineageOf({ account, headers }: Action): string {
  const labels = Object.values(headers).flat().join(',');
  return `${account} ${/opsd:[\w-]+:([\w-]+):\d+/.exec(labels)?.[1] ?? 'no stamp'}`;
}
