/**
 * Series of an account that moves between replicas, in a real Prometheus: to another instance, back again, and away from
 * a replica that still exposes its last commit.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { RECORDING_FILE } from '../../deploy/prometheus/render.ts';
import { installed } from '../support/program.ts';
import { prometheus } from '../support/prometheus.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const COUNTER = 'msgsvc_messages_finished_total';
const OWNER_SERIES = `job_account_destination:${COUNTER}:owner`;
const USED = 'account:msgsvc_account_dlq_used:ratio';
const STEP = 10;

/** Store of the replicas: each scrape of the owner finds more messages. */
class Account {
  total = 1_000;
  owner = '';
}

interface Replica {
  readonly url: string;
  scrapes: number;
  /** Cut off from the store: it exposes its last commit. */
  isCutOff: boolean;
}

async function replica(name: string, account: Account): Promise<Replica> {
  let committed = 0;
  const server = createServer((_request, response) => {
    const isOwner = account.owner === name;
    if (isOwner) committed = account.total += STEP;
    self.scrapes += 1;
    const lease = `opsd_lease_owner{account="shop"} ${isOwner ? 1 : 0}\n`;
    const own = `${COUNTER}{account="shop",destination="d"} ${committed}
msgsvc_account_dlq_messages{account="shop"} ${name === 'a' ? 90 : 10}
msgsvc_account_limit_dlq_messages{account="shop"} 100\n`;
    response.setHeader('Content-Type', 'text/plain; version=0.0.4');
    response.end(isOwner || self.isCutOff ? lease + own : lease);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const self: Replica = { url, scrapes: 0, isCutOff: false };
  return self;
}

/** Returns a file with the recording rules of this test, evaluated at each scrape. */
function rules(): string {
  interface Group {
    readonly name: string;
    readonly rules: readonly { readonly record: string }[];
  }
  const { groups } = parse(readFileSync(RECORDING_FILE, 'utf8')) as { readonly groups: readonly Group[] };
  const used = groups
    .map(({ name, rules: all }) => ({
      name,
      interval: '1s',
      rules: all.filter(({ record }) => record.includes('opsd_lease') || [OWNER_SERIES, USED].includes(record)),
    }))
    .filter(({ rules: kept }) => kept.length > 0);
  const file = join(tempDir(), 'rules.yaml');
  writeFileSync(file, stringify({ groups: used }));
  return file;
}

test('an account that moves and returns is counted once, and only its owner shows its gauges', async ({ skip }) => {
  const program = installed('prometheus');
  if (program === undefined) skip('prometheus is not installed');
  const account = new Account();
  const [a, b] = [await replica('a', account), await replica('b', account)];
  const { value } = await prometheus(program!, { jobs: { opsd: [a.url, b.url] }, ruleFiles: [rules()] });
  const owned = async (by: Replica, name: string): Promise<void> => {
    account.owner = name;
    const enough = by.scrapes + 5;
    await until({ what: `${name} was scraped` }, async () => {
      return by.scrapes >= enough && (await value(`max(${OWNER_SERIES})`)) >= account.total - 3 * STEP;
    });
  };
  await owned(a, 'a');
  await owned(b, 'b');
  await until({ what: 'the gauge is that of b' }, async () => (await value(USED)) === 0.1);
  await owned(a, 'a');

  // Each scrape added STEP. Samples of rules may skip one, but the series never falls and never jumps.
  expect(await value(`resets(${OWNER_SERIES}[10m])`)).toBe(0);
  const counted = await value(`max_over_time(${OWNER_SERIES}[10m]) - min_over_time(${OWNER_SERIES}[10m])`);
  expect(counted).toBeLessThanOrEqual(account.total - 1_000);
  expect(counted).toBeGreaterThan(10 * STEP);
  // The sum of the instances counts again what b has counted.
  const doubled = await value(`sum(max_over_time(${COUNTER}[10m]) - min_over_time(${COUNTER}[10m]))`);
  expect(doubled - counted).toBeGreaterThan(2 * STEP);

  // a loses its database: it exposes its last commit beside the new owner.
  a.isCutOff = true;
  await owned(b, 'b');
  await until({ what: 'the gauge is that of b again' }, async () => (await value(USED)) === 0.1);
  expect(await value(`count(msgsvc_account_dlq_messages)`)).toBe(2);
  expect(await value(`resets(${OWNER_SERIES}[10m])`)).toBe(0);
});
