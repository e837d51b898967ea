/** Canaries of the daemon over the emulator, from the configuration to the metrics. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { CanariesView } from '#operate/api/canaries.ts';
import { freePort } from '../support/free-port.ts';
import { emulatorProgram, opsd } from '../support/program.ts';
import { TEST_TOKEN } from '../support/service.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const KEY = 'canary-signing-key-1c';

test('a canary of each route gets its verdict, with signed deliveries', async () => {
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
  writeFileSync(
    join(folder, 'opsd.yaml'),
    `
server: { listen: "127.0.0.1:0" }
storage: { sqlite: { path: opsd.db } }
log: { level: debug }
accounts:
  - name: production
    messageApi: { url: "${emulator.url}", token: ${TEST_TOKEN} }
    canaries:
      - { name: direct, every: 5s, timeout: 5s }
      - { name: key, every: 5s, timeout: 5s, via: { flowControlKey: billing } }
      - { name: group, every: 5s, timeout: 5s, via: { urlGroup: canary } }
      - { name: workflow, every: 5s, timeout: 5s, via: { workflow: true } }
hooks:
  listen: ${new URL(hooks).host}
  publicUrl: ${hooks}
  callbacks: { production: { token: secret-of-callbacks, signingKeys: ${KEY} } }
`,
  );
  const daemon = opsd(['run', '--config', join(folder, 'opsd.yaml')]);
  const url = String((await daemon.logged('daemon running'))['url']);
  const verdicts = async (): Promise<string[]> => {
    const text = await (await fetch(`${url}/metrics`)).text();
    return [...text.matchAll(/^msgsvc_canary_verdict_info\{account="production",canary="(\w+)",verdict="(\w+)"\} 1/gm)]
      .map(([, canary, verdict]) => `${canary} ${verdict}`)
      .sort();
  };
  let seen: readonly string[] = [];
  await until({ what: 'every canary has its verdict', timeoutMs: 30_000 }, async () => {
    seen = await verdicts();
    return seen.length === 4 && seen.every((one) => !one.endsWith('unknown'));
  }).catch(() => undefined);
  expect(seen).toEqual(['direct ok', 'group ok', 'key ok', 'workflow ok']);
  const { canaries } = (await (await fetch(`${url}/api/v1/canaries`)).json()) as CanariesView;
  expect(canaries.map(({ canary, verdict }) => `${canary} ${verdict}`)).toEqual([
    'direct ok',
    'key ok',
    'group ok',
    'workflow ok',
  ]);
  for (const { canary, rounds } of canaries) expect(Object.keys(rounds.at(-1)!.phases), canary).toContain('arrived');
  expect(await (await fetch(`${url}/canaries`)).text()).toContain('id="canary-production-workflow"');
  daemon.kill('SIGTERM');
  expect((await daemon.ended).code).toBe(0);
}, 60_000);
