/** The configuration for display contains no secret, and everything else. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseConfig } from '#config/load.ts';
import { configLines, shownConfig } from '#config/shown-config.ts';

function shownOf(text: string): { readonly settings: Readonly<Record<string, unknown>>; readonly yaml: string } {
  const loaded = parseConfig(text, { file: 'opsd.yaml', baseDir: '/etc/opsd', env: {}, secrets: false });
  if (!loaded.ok) throw new Error(loaded.problems.map(({ path, message }) => `${path}: ${message}`).join('\n'));
  const settings = shownConfig(loaded.config);
  return { settings, yaml: configLines(settings).join('\n') };
}

const SECRETS = `
server: { tokens: [{ name: oncall, role: operator, token: CANARY-1-long-enough-token }] }
accounts:
  - name: production
    messageApi: { url: "https://eu.example", token: CANARY-2, actionToken: CANARY-3 }
    managementApi: { url: "https://api.example", username: me, password: CANARY-4, accountId: a1 }
telemetry:
  traces: { otlp: { url: "https://otlp.example", headers: { x-anything: CANARY-5, tokenFile: CANARY-6 } } }
notifications:
  webhook: { url: "https://hooks.example/services/CANARY-7", token: CANARY-8 }
  owners: { payments: { webhook: { url: "https://hooks.example/CANARY-9" } } }
hooks:
  listen: ":10778"
  alertmanager: { main: { token: CANARY-10-long-enough-token } }
  callbacks: { production: { token: CANARY-11-long-enough-token } }
`;

test('no secret is shown, under any key that can have one', () => {
  expect(SECRETS.match(/CANARY/g)).toHaveLength(11);
  const { settings, yaml } = shownOf(SECRETS);
  expect(JSON.stringify(settings)).not.toContain('CANARY');
  expect(yaml).not.toContain('CANARY');
  expect(yaml.match(/\[secret\]/g)).toHaveLength(11);
});

test('names, addresses, paths of secrets and defaults are shown', () => {
  const { yaml } = shownOf(`
server: { tokens: [{ name: oncall, role: operator, tokenFile: oncall.token }] }
notifications: { webhook: { urlFile: hook.url } }
accounts: [{ name: production, url: "https://eu.example", tokenFile: token }]
`);
  for (const part of [
    'name: oncall',
    'tokenFile: /etc/opsd/oncall.token',
    'urlFile: /etc/opsd/hook.url',
    'url: https://eu.example',
    'tokenFile: /etc/opsd/token',
    'pageBudget: 200',
  ]) {
    expect(yaml).toContain(part);
  }
});

test('the example is shown without parts that are not settings', () => {
  const example = readFileSync(join(import.meta.dirname, '../../config.example.yaml'), 'utf8');
  const { settings } = shownOf(example.replaceAll(/^\s*(?:webConfigFile|policyFiles|users).*$/gm, ''));
  expect(Object.keys(settings)).toEqual(expect.arrayContaining(['server', 'accounts', 'policies', 'engine']));
  for (const key of ['security', 'hash', 'contents', 'policyPart', 'files', 'sourceFile']) {
    expect(settings).not.toHaveProperty(key);
  }
});
