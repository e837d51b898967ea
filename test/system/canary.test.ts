/** Canaries of the daemon over the emulator, from the configuration to the metrics. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import type { CanariesView } from '#operate/contract/readings.ts';
import { daemonConfig } from '../support/daemon-world.ts';
import { freePort } from '../support/free-port.ts';
import { emulatorProgram, opsd } from '../support/program.ts';
import { TEST_TOKEN } from '../support/service.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const KEY = 'canary-signing-key-1c';

test('a canary of each route gets its verdict, with signed deliveries, over a reload, and leaks no secret', async () => {
  const emulator = await emulatorProgram([`--signing-key=${KEY}`]);
  const hooks = `http://127.0.0.1:${await freePort()}`;
  const folder = tempDir();
  const headers = { Authorization: `Bearer ${TEST_TOKEN}`, 'Content-Type': 'application/json' };
  const endpoints = [{ name: 'own', url: `${hooks}/hooks/canary/production/group` }];
  await fetch(`${emulator.url}/v2/topics/canary/endpoints`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ endpoints }),
  });
  const file = join(folder, 'opsd.yaml');
  const canary = (name: string, via?: object) => ({ name, every: '5s', timeout: '5s', via });
  const write = (...more: object[]): void =>
    writeFileSync(
      file,
      daemonConfig(emulator.url, {
        log: { level: 'debug' },
        account: {
          canaries: [
            canary('direct'),
            canary('key', { flowControlKey: 'billing' }),
            canary('group', { urlGroup: 'canary' }),
            canary('workflow', { workflow: true }),
            ...more,
          ],
        },
        hooks: {
          listen: new URL(hooks).host,
          publicUrl: hooks,
          callbacks: { production: { token: 'secret-of-callbacks', signingKeys: KEY } },
        },
      }),
    );
  write();
  const daemon = opsd(['run', '--config', file]);
  const url = String((await daemon.logged('daemon running'))['url']);
  const scraped: string[] = [];
  const verdicts = async (): Promise<string[]> => {
    const text = await (await fetch(`${url}/metrics`)).text();
    scraped.push(text);
    return [...text.matchAll(/^msgsvc_canary_verdict_info\{account="production",canary="(\w+)",verdict="(\w+)"\} 1/gm)]
      .map(([, canary, verdict]) => `${canary} ${verdict}`)
      .sort();
  };
  const expectVerdicts = async (wanted: readonly string[]): Promise<void> => {
    let seen: readonly string[] = [];
    await until({ what: 'every canary has its verdict' }, async () => {
      seen = await verdicts();
      return seen.join() === wanted.join();
    }).catch(() => expect(seen).toEqual(wanted));
  };
  await expectVerdicts(['direct ok', 'group ok', 'key ok', 'workflow ok']);
  const { canaries } = (await (await fetch(`${url}/api/v1/canaries`)).json()) as CanariesView;
  expect(canaries.map(({ canary, verdict }) => `${canary} ${verdict}`)).toEqual([
    'direct ok',
    'key ok',
    'group ok',
    'workflow ok',
  ]);
  for (const { canary, rounds } of canaries) expect(Object.keys(rounds.at(-1)!.phases), canary).toContain('arrived');
  const page = await (await fetch(`${url}/canaries`)).text();
  expect(page).toContain('id="canary-production-workflow"');

  // A reload keeps the verdicts and the messages in flight; a route that the service does not know is nobody's fault.
  write(canary('queue', { queue: 'payments' }));
  daemon.kill('SIGHUP');
  await daemon.logged('configuration changed, applying it');
  await expectVerdicts(['direct ok', 'group ok', 'key ok', 'queue unknown', 'workflow ok']);
  await until({ what: 'the message to the queue has its verdict' }, async () => {
    const all = (await (await fetch(`${url}/api/v1/canaries`)).json()) as CanariesView;
    const result = all.canaries.find(({ canary }) => canary === 'queue')?.rounds[0]?.result;
    return result?.verdict === 'unknown' && result.reason.includes('HTTP 404');
  });

  await daemon.stop();
  using db = new DatabaseSync(join(folder, 'opsd.db'), { readOnly: true });
  const key = String(db.prepare(`SELECT value FROM meta WHERE key = 'canary_key'`).get()!['value']);
  const nonces = db.prepare('SELECT record FROM canary_rounds').all();
  expect(nonces.length).toBeGreaterThanOrEqual(5);
  const told = [daemon.stderr(), page, JSON.stringify(canaries), ...scraped].join('\n');
  for (const { record } of nonces) expect(told).not.toContain((JSON.parse(String(record)) as { nonce: string }).nonce);
  expect(told).not.toContain(key);
  // Nor does the log of the service have a code.
  const log = await (await fetch(`${emulator.url}/v2/logs?count=100`, { headers })).text();
  expect(log).toContain('REDACTED:');
  expect(log).not.toMatch(/"[mc]\.[\w-]{22}\.[\w-]{43}"(?![^{]*wfr_)/);
});
