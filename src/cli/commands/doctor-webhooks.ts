/** Checks that receivers of notifications respond, that the listener for hooks does, and the keys of kept bodies. */
import { readFileSync } from 'node:fs';
import type { Config } from '#config/config.ts';
import type { ClientPairFiles } from '#foundation/platform/client-pair.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { sealKeysOf } from '#foundation/platform/seal.ts';
import type { CliIo } from '../command.ts';
import { finding, ok, reach, skippedCheck, type Check, type CheckResult } from './doctor-check.ts';

interface Receiver extends Partial<ClientPairFiles> {
  readonly name: string;
  readonly url?: string;
  readonly urlFile?: string;
}

/** @param isRunning the hooks respond only while the daemon runs */
export async function checkWebhooks(config: Config, isRunning: boolean, io: CliIo): Promise<readonly Check[]> {
  const { webhook, alertmanager, owners } = config.notifications;
  const receivers: Receiver[] = [
    ...(webhook === undefined ? [] : [{ name: 'notifications.webhook', ...webhook }]),
    ...(alertmanager === undefined ? [] : [{ name: 'notifications.alertmanager', ...alertmanager }]),
    ...Object.entries(owners).map(([owner, one]) => ({ name: `webhook of ${owner}`, ...one.webhook })),
  ];
  const checks: Check[] = [];
  for (const one of receivers) checks.push({ check: 'webhook', subject: one.name, ...(await checkReceiver(one, io)) });
  if (receivers.length === 0) {
    checks.push({ check: 'webhook', ...skippedCheck('no notifications are configured') });
  }
  return [...checks, ...(isRunning ? await checkHooks(config, io) : []), ...checkBodyKeys(config)];
}

async function checkReceiver({ url, urlFile, ...files }: Receiver, io: CliIo): Promise<CheckResult> {
  let target: string;
  try {
    target = url ?? readFileSync(urlFile!, 'utf8').trim();
  } catch (error) {
    return finding(errorMessage(error), 'make the file readable for the daemon');
  }
  // The rest of the URL may be secret.
  const { origin } = new URL(target);
  const reached = await reach(target, 'HEAD', io, files);
  if ('error' in reached) {
    const fix = 'check the URL, and the network and proxy of this machine';
    return finding(`${origin} does not respond: ${reached.error}`, fix);
  }
  if (reached.status < 500) return ok(`${origin} responds (${reached.status} to HEAD)`);
  return finding(`${origin} responds ${reached.status}`, 'repair the receiver');
}

async function checkHooks({ hooks, security }: Config, io: CliIo): Promise<readonly Check[]> {
  const { listen } = hooks;
  if (listen === undefined) return [];
  const about = { check: 'hooks', subject: `${listen.host}:${listen.port}` };
  if (security.hooks !== undefined) return [{ ...about, ...skippedCheck('uses TLS; not checked from here') }];
  const reached = await reach(`http://${localHost(listen.host)}:${listen.port}/hooks/`, 'GET', io);
  if ('error' in reached) {
    const fix = 'check that no other program has the port, and the log of the daemon';
    return [{ ...about, ...finding(`does not respond: ${reached.error}`, fix) }];
  }
  return [{ ...about, ...ok('responds on this machine; whether the service reaches it was not checked') }];
}

/** Address for a request from this machine. */
export function localHost(host: string): string {
  if (host === '' || host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

function checkBodyKeys({ accounts }: Config): readonly Check[] {
  return accounts.flatMap(({ name, deadLetters: { bodies } }) =>
    bodies === undefined ? [] : [{ check: 'bodies', subject: name, ...checkKeyFile(bodies.keyFile) }],
  );
}

/** A file that cannot be used is a problem of the configuration. */
function checkKeyFile(file: string | undefined): CheckResult {
  if (file === undefined) {
    const fix = 'set keyFile to a file with the output of: openssl rand -hex 32';
    return finding('bodies and headers of messages are stored in clear', fix);
  }
  const [first, ...older] = sealKeysOf(readFileSync(file, 'utf8')).map(({ id }) => id);
  return ok([`sealed with key ${first}`, ...older.map((id) => `also opens ${id}`)].join(', '));
}
