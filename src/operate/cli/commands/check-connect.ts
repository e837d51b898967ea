/**
 * Check of the addresses and credentials of a configuration. It sends one GET for each credential, without retries, and
 * never a write: an entry of the workflow DLQ with each token, and the statistics of the last hour with the password.
 */
import type { ServiceClient } from '#service/api.ts';
import type { ClientOptions } from '#service/create-client.ts';
import type { Account, Config } from '#config/config.ts';
import { redact } from '#foundation/domain/redact.ts';
import { serviceErrorCode } from '#foundation/domain/service-error.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { keepAlive } from '#foundation/platform/keep-alive.ts';
import type { Secret } from '#foundation/platform/secret.ts';
import type { CliIo } from '../command.ts';

/** Result for one credential. */
export interface Tried {
  readonly account: string;
  readonly credential: 'token' | 'actionToken' | 'password';
  readonly call: string;
  readonly ok: boolean;
  /** Never contains a credential. */
  readonly result: string;
}

interface Trial extends Pick<Tried, 'account' | 'credential' | 'call'> {
  readonly client: ClientOptions;
  readonly send: (client: ServiceClient, signal: AbortSignal) => Promise<unknown>;
}

export async function tryConnections(config: Config, io: CliIo): Promise<readonly Tried[]> {
  const { Secret } = await import('#foundation/platform/secret.ts');
  // Between two responses nothing else keeps the process alive.
  using _alive = keepAlive();
  const tried: Tried[] = [];
  for (const account of config.accounts) {
    const secretOf = (value: string | undefined, file: string | undefined): Secret | undefined => {
      if (value !== undefined) return Secret.of(value);
      return file === undefined ? undefined : Secret.fromFile(file);
    };
    for (const trial of trialsOf(account, secretOf)) tried.push(await attempt(trial, io));
  }
  return tried;
}

type SecretOf = (value: string | undefined, file: string | undefined) => Secret | undefined;

/** Trials of one account. An embedded service starts with the daemon, so it has none. */
function trialsOf({ name, messageApi, managementApi, wire, client }: Account, secretOf: SecretOf): Trial[] {
  // Only one request is allowed, so that a failure shows at once.
  const common = { account: name, wire, limits: { ...client, requestsPerDay: 1 } };
  const trials: Trial[] = [];
  const tokens = messageApi !== undefined &&
    messageApi.url !== 'embedded' && {
      token: secretOf(messageApi.token, messageApi.tokenFile),
      actionToken: secretOf(messageApi.actionToken, messageApi.actionTokenFile),
    };
  for (const [credential, token] of Object.entries(tokens || {})) {
    if (token === undefined) continue;
    trials.push({
      account: name,
      credential: credential as 'token' | 'actionToken',
      call: 'GET /v2/workflows/dlq?count=1',
      client: { ...common, messageApi: { url: messageApi!.url, token } },
      send: ({ message }, signal) => message!.listWorkflowDlq({ count: 1 }, { signal }),
    });
  }
  const password = managementApi && secretOf(managementApi.password, managementApi.passwordFile);
  if (managementApi !== undefined && password !== undefined) {
    const { url, username, accountId } = managementApi;
    trials.push({
      account: name,
      credential: 'password',
      call: `GET /v2/${wire.product}/stats/…?period=1h`,
      client: { ...common, managementApi: { url, username, password } },
      send: ({ management }, signal) => management!.getAccountStats(accountId, '1h', { signal }),
    });
  }
  return trials;
}

async function attempt({ client: options, send, ...about }: Trial, io: CliIo): Promise<Tried> {
  const { createClient } = await import('#service/create-client.ts');
  const { EventBus } = await import('#foundation/events/events.ts');
  const { systemRandom } = await import('#foundation/platform/random.ts');
  await using client = createClient(options, { clock: io.clock, events: new EventBus(), random: systemRandom });
  try {
    await send(client, io.signal);
    const result = about.credential === 'actionToken' ? 'accepted; write permission was not checked' : 'accepted';
    return { ...about, ok: true, result };
  } catch (error) {
    io.signal.throwIfAborted();
    // The service knows the token, but reading is not its purpose.
    const isForWrites = about.credential === 'actionToken' && serviceErrorCode(error) === 'forbidden';
    if (isForWrites)
      return { ...about, ok: true, result: 'known, without read permission; write permission was not checked' };
    return { ...about, ok: false, result: redact(errorMessage(error)) };
  }
}
