/**
 * Check of the addresses and credentials of a configuration. It sends one GET for each credential, without retries, and
 * never a write: an entry of the workflow DLQ with each token, and the statistics of the last hour with the password.
 */
import type { Answer, ServiceClient } from '#service/api.ts';
import type { ClientOptions } from '#service/create-client.ts';
import type { Account, Config } from '#config/config.ts';
import { redact } from '#foundation/domain/redact.ts';
import { serviceErrorCode, type ServiceErrorCode } from '#foundation/domain/service-error.ts';
import { clientOf } from '#foundation/platform/client-pair.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { keepAlive } from '#foundation/platform/clock.ts';
import { Secret } from '#foundation/platform/secret.ts';
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
  readonly send: (client: ServiceClient, signal: AbortSignal) => Promise<Answer<unknown>>;
}

/** Result of one request. */
export interface Attempt extends Tried {
  /** Reason of a failure. */
  readonly code?: ServiceErrorCode;
  /** Difference between the service's clock and ours, if the service sent its time. */
  readonly clockAheadMs?: number;
}

export function tryConnections({ accounts }: Config, io: CliIo): Promise<readonly Attempt[]> {
  return Array.fromAsync(accounts.flatMap(trialsOf), (trial) => attempt(trial, io));
}

/** Trials of one account. An embedded service starts with the daemon, so it has none. */
export function trialsOf(account: Account): Trial[] {
  const { messageApi, managementApi } = account;
  const { token, tokenFile, actionToken, actionTokenFile, url } = messageApi ?? {};
  const [read, write] = url === 'embedded' ? [] : [secretOf(token, tokenFile), secretOf(actionToken, actionTokenFile)];
  const password = secretOf(managementApi?.password, managementApi?.passwordFile);
  return [
    ...(read === undefined ? [] : [tokenTrial(account, read)]),
    ...(write === undefined ? [] : [tokenTrial(account, write, 'actionToken')]),
    ...(password === undefined ? [] : [passwordTrial(account, password)]),
  ];
}

export function secretOf(value: string | undefined, file: string | undefined): Secret | undefined {
  if (value !== undefined) return Secret.of(value);
  return file === undefined ? undefined : Secret.fromFile(file);
}

/** Only one request is allowed, so that a failure shows at once. */
export function oneRequest({ name, wire, client }: Account): Pick<ClientOptions, 'account' | 'wire' | 'limits'> {
  return { account: name, wire, limits: { ...client, requestsPerDay: 1 } };
}

export function tokenTrial(account: Account, token: Secret, credential: 'token' | 'actionToken' = 'token'): Trial {
  return {
    account: account.name,
    credential,
    call: 'GET /v2/workflows/dlq?count=1',
    client: {
      ...oneRequest(account),
      messageApi: { url: account.messageApi!.url, token, ...clientOf(account.messageApi!) },
    },
    send: ({ message }, signal) => message!.listWorkflowDlq({ count: 1 }, { signal }),
  };
}

export function passwordTrial(account: Account, password: Secret): Trial {
  const { url, username, accountId } = account.managementApi!;
  return {
    account: account.name,
    credential: 'password',
    call: `GET /v2/${account.wire.product}/stats/…?period=1h`,
    client: { ...oneRequest(account), managementApi: { url, username, password, ...clientOf(account.managementApi!) } },
    send: ({ management }, signal) => management!.getAccountStats(accountId, '1h', { signal }),
  };
}

export async function attempt({ client: options, send, ...about }: Trial, io: CliIo): Promise<Attempt> {
  try {
    const { servedAt } = await withClient(options, io, (client) => send(client, io.signal));
    const result = about.credential === 'actionToken' ? 'accepted; write permission was not checked' : 'accepted';
    return { ...about, ok: true, result, ...(servedAt !== undefined && { clockAheadMs: servedAt - io.clock.now() }) };
  } catch (error) {
    io.signal.throwIfAborted();
    const code = serviceErrorCode(error);
    // The service knows the token, but reading is not its purpose.
    if (about.credential === 'actionToken' && code === 'forbidden')
      return { ...about, ok: true, result: 'known, without read permission; write permission was not checked' };
    return { ...about, ok: false, result: redact(errorMessage(error)), ...(code !== undefined && { code }) };
  }
}

/** Calls the service with a client that ends with the call. */
export async function withClient<T>(
  options: ClientOptions,
  io: CliIo,
  work: (client: ServiceClient) => Promise<T>,
): Promise<T> {
  const { createClient } = await import('#service/create-client.ts');
  const { EventBus } = await import('#foundation/events/events.ts');
  const { systemRandom } = await import('#foundation/platform/random.ts');
  // Between two responses nothing else keeps the process alive.
  using _alive = keepAlive();
  await using client = createClient(options, { clock: io.clock, events: new EventBus(), random: systemRandom });
  return await work(client);
}
