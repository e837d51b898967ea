/** `opsd flow-control list`, against a real server. */
import { expect, test } from 'vitest';
import type { FlowControlKey } from '#foundation/domain/flow-control.ts';
import { serving, world } from '../operate/http/world.ts';
import { opsd } from './terminal.ts';

const KEYS: readonly FlowControlKey[] = [
  { flowControlKey: 'free', waitListSize: 0 },
  { flowControlKey: 'emails', waitListSize: 0, parallelismMax: 10, parallelismCount: 5, isPinnedParallelism: true },
  { flowControlKey: 'billing', waitListSize: 1_207, rateMax: 40, rateCount: 40, ratePeriod: 60 },
  { flowControlKey: 'legacy\u001B[2J', waitListSize: 2, isPaused: true },
];

/** Runs the command on an account with these keys, and one without a reading. */
async function list(rows: readonly FlowControlKey[], args: readonly string[] = []) {
  const deps = world({ accounts: [{ name: 'production' }, { name: 'staging' }] });
  for (const account of ['production', 'staging']) deps.register('flowControl', account);
  deps.publish('flowControl', rows);
  const { address } = await serving(deps);
  return opsd(['flow-control', 'list', ...args], { isTTY: true, columns: 80, env: { OPSD_URL: address } });
}

const STALE = 'Keys may be missing or old, because they could not be read: staging (pending)\n';

test('the table has what keeps messages waiting, the worst first, and warns of accounts that could not be read', async () => {
  const { code, stdout, stderr } = await list(KEYS);
  expect(stdout).toBe(`\
KEY            WAITING  CONSTRAINT  PARALLELISM          RATE  USED  ACCOUNT
legacy\\x1b[2J        2  paused                –             –     –  production
billing          1,207  rate                  –  40/40 in 60s  100%  production
emails               0  –                  5/10             –   50%  production
free                 0  –                     –             –     –  production
`);
  expect([code, stderr]).toEqual([0, STALE]);
});

test('the wide table, the names, and the response of the API', async () => {
  expect((await list(KEYS, ['-o', 'wide', '--limit', '3'])).stdout.split('\n')[3]).toMatch(
    /production {2}now {3}parallelism {2}no$/,
  );
  expect(await list(KEYS, ['-o', 'name', '--limit', '2'])).toMatchObject({
    stdout: 'legacy\\x1b[2J\nbilling\n',
    stderr: `The first 2; more with --limit.\n${STALE}`,
  });
  expect(JSON.parse((await list(KEYS, ['-o', 'json', '--account', 'production'])).stdout)).toMatchObject({
    keys: [{ account: 'production', constraint: 'paused' }, {}, {}, {}],
  });
});

test('an empty list says what would fill it', async () => {
  const { stdout, stderr } = await list([]);
  expect(stdout).toBe('');
  expect(stderr).toMatch(/^No flow-control keys\. Name them in collectors\.flowControl\.keys;/);
});
