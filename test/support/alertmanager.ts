/** A real Alertmanager with a given configuration, and the shipped configuration with addresses of a test. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { parse, stringify } from 'yaml';
import { freePort } from './free-port.ts';
import { start } from './program.ts';
import { tempDir } from './temp-dir.ts';
import { until } from './until.ts';

const SHIPPED = join(import.meta.dirname, '../../deploy/alertmanager/alertmanager.yaml');

interface Alert {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly startsAt: string;
  readonly status: { readonly state: 'active' | 'suppressed' | 'unprocessed' };
}

export type Alertmanager = Awaited<ReturnType<typeof startAlertmanager>>;

/** Starts an Alertmanager that ends with the test. */
export async function startAlertmanager(program: string, config: string) {
  const folder = tempDir();
  const port = await freePort();
  writeFileSync(join(folder, 'am.yml'), config);
  const server = start(program, [
    `--config.file=${join(folder, 'am.yml')}`,
    `--storage.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--cluster.listen-address=',
  ]);
  const url = `http://127.0.0.1:${port}`;
  await until({ what: 'Alertmanager is ready' }, () =>
    fetch(`${url}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return {
    url,
    /** Returns the firing alerts. */
    alerts: async () => (await (await fetch(`${url}/api/v2/alerts`)).json()) as readonly Alert[],
    async post(...alerts: readonly object[]) {
      const headers = { 'Content-Type': 'application/json' };
      const answer = await fetch(`${url}/api/v2/alerts`, { method: 'POST', headers, body: JSON.stringify(alerts) });
      expect(answer.status).toBe(200);
    },
    stop: () => server.kill('SIGTERM'),
  };
}

interface Route {
  group_wait?: string;
  group_interval?: string;
  repeat_interval?: string;
  readonly routes?: readonly Route[];
}

interface Shipped {
  readonly route: Route;
  readonly receivers: readonly {
    readonly webhook_configs?: { url: string; http_config: { authorization: { credentials_file: string } } }[];
    readonly pagerduty_configs?: { url?: string; routing_key_file: string }[];
    readonly slack_configs?: { api_url_file: string }[];
  }[];
}

export interface Told {
  /** The daemon's hook, and the file with its token. */
  readonly opsd: { readonly url: string; readonly tokenFile: string };
  readonly pager: string;
  readonly chat: string;
}

/** Returns the shipped configuration with other addresses, files and waits. Nothing else is changed. */
export function shippedAlertmanager({ opsd, pager, chat }: Told): string {
  const folder = tempDir();
  const config = parse(readFileSync(SHIPPED, 'utf8')) as Shipped;
  (function hurry(route: Route): void {
    Object.assign(route, { group_wait: '1s', group_interval: '1s', repeat_interval: '1s' });
    for (const child of route.routes ?? []) hurry(child);
  })(config.route);
  writeFileSync(join(folder, 'pager-key'), 'a-key');
  writeFileSync(join(folder, 'chat-url'), chat);
  for (const { webhook_configs, pagerduty_configs, slack_configs } of config.receivers) {
    for (const webhook of webhook_configs ?? []) {
      webhook.url = opsd.url;
      webhook.http_config.authorization.credentials_file = opsd.tokenFile;
    }
    for (const pagerduty of pagerduty_configs ?? [])
      Object.assign(pagerduty, { url: pager, routing_key_file: join(folder, 'pager-key') });
    for (const slack of slack_configs ?? []) slack.api_url_file = join(folder, 'chat-url');
  }
  return stringify(config);
}
