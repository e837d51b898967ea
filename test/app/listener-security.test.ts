/** The web configuration files, and the listeners that the composition root opens with them. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSecurity, replaceSecurity } from '#app/listener-security.ts';
import { loadConfig } from '#config/load.ts';
import { EventBus, type OpsEvent } from '#foundation/events/events.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { tempDir } from '../support/temp-dir.ts';

function world() {
  const folder = tempDir();
  const put = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  put(
    'opsd.yaml',
    `server: { webConfigFile: web.yaml }
hooks: { listen: ":10778", webConfigFile: hooks.yaml, alertmanager: { main: { token: t } } }
accounts: [{ name: a, url: "https://x.example", token: t }]
`,
  );
  put('hooks.yaml', '{}');
  const load = (secrets?: boolean) => {
    const loaded = loadConfig(join(folder, 'opsd.yaml'), { env: {}, ...(secrets !== undefined && { secrets }) });
    if (!loaded.ok) throw new Error('the configuration of the test is wrong');
    return loaded.config;
  };
  return { put, load };
}

test('a listener is never opened without its file', () => {
  const { put, load } = world();
  put('web.yaml', '{}');
  expect(createSecurity(load(), new ManualClock(0)).server).toBeDefined();
  expect(() => createSecurity(load(false), new ManualClock(0))).toThrow('server.webConfigFile was not read');
});

test('changes are applied and reported; unchanged parts are not', () => {
  const { put, load } = world();
  put('web.yaml', 'rate_limit: { interval: 1s, burst: 5 }');
  const security = createSecurity(load(), new ManualClock(0));
  const events = new EventBus();
  const said: OpsEvent[] = [];
  events.subscribe((event) => void said.push(event));
  expect(security.server?.admits('/')).toBe(true);
  expect(replaceSecurity(security, load(), events)).toBe(false);
  put('web.yaml', 'rate_limit: { interval: 1s, burst: 6 }');
  expect(replaceSecurity(security, load(), events)).toBe(true);
  expect(security.server?.web.rateLimit?.burst).toBe(6);
  expect(said).toEqual([{ type: 'web_config.changed', listener: 'server' }]);
  put('hooks.yaml', 'rate_limit: { interval: 1s, burst: 7 }');
  expect(replaceSecurity(security, load(), events)).toBe(true);
  expect([security.hooks?.web.rateLimit?.burst, security.server?.web.rateLimit?.burst]).toEqual([7, 6]);
  expect(said.at(-1)).toEqual({ type: 'web_config.changed', listener: 'hooks' });
});
