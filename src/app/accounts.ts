/** Accounts of the configuration: their connections and credentials, and the embedded service. */
import { randomBytes } from 'node:crypto';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { AnswerMemory } from '#service/answer-memory.ts';
import { createClient, type AccountClient, type ClientOptions } from '#service/create-client.ts';
import type { Holds } from '#service/holds.ts';
import { loadUse } from '#service/kept-use.ts';
import type { ApiUsage } from '#operate/contract/status.ts';
import type { CollectorTarget } from '#observe/collectors/index.ts';
import type { Account, Config } from '#config/config.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { Api, EventBus } from '#foundation/events/events.ts';
import type { Logger } from '#foundation/platform/logger.ts';
import type { Random } from '#foundation/platform/random.ts';
import { clientOf } from '#foundation/platform/client-pair.ts';
import { Secret } from '#foundation/platform/secret.ts';
import { credentialOf } from './credentials.ts';
import type { Parts } from '#foundation/platform/parts.ts';
import type { Replica } from './replica.ts';
import type { Stores } from './stores.ts';

/** Account with its connection. */
interface Connection {
  readonly account: Account;
  readonly apis: readonly Api[];
  readonly client: ClientOptions;
  readonly target: CollectorTarget;
}

export interface Accounts {
  readonly connections: readonly Connection[];
  readonly clients: ReadonlyMap<string, AccountClient>;
  /** Closes every connection. Resolves when the requests in flight have ended, however long that takes. */
  closed(): Promise<unknown>;
  /** Returns the use of each API of an account. */
  usage(account: string): readonly ApiUsage[];
}

/** Part of the lease on an account that the deadline of a request may have. */
const LEASE_SHARE = 1 / 2;

interface AccountsDeps extends EmbeddedDeps {
  readonly events: EventBus;
  readonly requestUse: Stores['requestUse'];
  readonly holds: Holds;
  /** Absent if the store is not shared. */
  readonly replica?: Pick<Replica, 'leaseMs' | 'outlives'>;
}

/** Connects every account of the configuration, and starts the embedded service for those that ask for it. */
export async function connectAccounts(config: Config, deps: AccountsDeps, parts: Parts): Promise<Accounts> {
  const { clock, events, random, holds } = deps;
  const embedded = await startEmbedded(config, deps);
  if (embedded !== undefined) parts.ending('embedded service', 2_000, () => embedded.stop());
  const requestUse = await loadUse(deps.requestUse);
  const clients = new Map<string, AccountClient>();
  const answers = new AnswerMemory();
  const connections = config.accounts.map((account) => connection(account, { embedded, events }));
  for (const { account, client: settings } of connections) {
    const lease = leaseOf(account.name, settings, deps.replica);
    const client = createClient(lease.settings, { clock, events, random, requestUse, answers, holds, ...lease.deps });
    clients.set(account.name, client);
  }
  const usage = (account: string): readonly ApiUsage[] =>
    connections
      .find((candidate) => candidate.account.name === account)!
      .apis.map((api) => ({ api, ...clients.get(account)!.usage(api) }));
  const closed = () => Promise.allSettled([...clients.values()].map((client) => client[Symbol.asyncDispose]()));
  parts.ending('connections of the accounts', 2_000, closed);
  return { connections, clients, usage, closed };
}

/** Limits the requests of an account to the time of this replica's lease on it. */
function leaseOf(account: string, settings: ClientOptions, replica: AccountsDeps['replica']) {
  if (replica === undefined) return { settings, deps: {} };
  const timeout = Math.min(settings.limits.timeout, replica.leaseMs * LEASE_SHARE);
  const mayStart = (ms: number): string | undefined =>
    replica.outlives(account, ms)
      ? undefined
      : 'the lease of this replica on the account does not last for the request';
  return { settings: { ...settings, limits: { ...settings.limits, timeout } }, deps: { mayStart } };
}

interface ConnectionDeps {
  readonly embedded: Embedded | undefined;
  readonly events: EventBus;
}

/** Connection of an account, and the target of its collectors. */
function connection(account: Account, { embedded, events }: ConnectionDeps): Connection {
  const secret = (credential: string, value: string | undefined, file: string | undefined): Secret | undefined =>
    value === undefined && file === undefined
      ? undefined
      : credentialOf(events, { account: account.name, credential }, value, file);
  const { messageApi, managementApi } = account;
  const isEmbedded = messageApi?.url === 'embedded' && embedded !== undefined;
  const message = isEmbedded
    ? { url: embedded.url, token: embedded.token(account.name) }
    : messageApi && {
        url: messageApi.url,
        token: secret('token', messageApi.token, messageApi.tokenFile)!,
        actionToken: secret('actionToken', messageApi.actionToken, messageApi.actionTokenFile),
        ...clientOf(messageApi),
      };
  const management = isEmbedded
    ? { url: embedded.url, ...embedded.management }
    : managementApi && {
        url: managementApi.url,
        username: managementApi.username,
        password: secret('password', managementApi.password, managementApi.passwordFile)!,
        ...clientOf(managementApi),
      };
  const accountId = isEmbedded ? account.name : managementApi?.accountId;
  return {
    account,
    apis: [...(message ? (['message'] as const) : []), ...(management ? (['management'] as const) : [])],
    client: {
      account: account.name,
      messageApi: message,
      managementApi: management,
      wire: account.wire,
      requestsPerDay: account.limits.requestsPerDayHard ?? account.limits.requestsPerDay,
      limits: account.client,
    },
    target: {
      account: account.name,
      accountId,
      hasMessageApi: message !== undefined,
      hasManagementApi: management !== undefined,
      flowControlKeys: account.flowControlKeys,
      searchIndexes: account.searchIndexes,
      vectorIndexes: account.vectorIndexes,
      dlqRetentionMs: account.limits.dlqRetention,
      settings: account.collectors,
    },
  };
}

/** Embedded service of this process. */
interface Embedded {
  readonly url: string;
  readonly management: { readonly username: string; readonly password: Secret };
  token(account: string): Secret;
  stop(): Promise<void>;
}

interface EmbeddedDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Starts the embedded service for its accounts, on a free loopback port, with random credentials. */
async function startEmbedded(config: Config, { clock, random, logger }: EmbeddedDeps): Promise<Embedded | undefined> {
  const accounts = config.accounts.filter((account) => account.messageApi?.url === 'embedded');
  const [first] = accounts;
  if (first === undefined) return undefined;
  const { runEmulator } = await import('#emulator/emulator.ts');
  const word = (): string => randomBytes(18).toString('base64url');
  const tokens = new Map(accounts.map((account) => [account.name, word()]));
  const management = { username: 'opsd', password: word() };
  const emulator = await runEmulator({
    clock,
    random,
    listen: { host: '127.0.0.1', port: 0 },
    accounts: [...tokens].map(([id, token]) => ({ id, token })),
    management,
    headerPrefix: first.wire.headerPrefix,
    product: first.wire.product,
    onError: (error) => logger.error({ error: errorMessage(error) }, 'embedded service failed'),
  });
  return {
    url: emulator.url,
    management: { username: management.username, password: Secret.of(management.password) },
    token: (account) => Secret.of(tokens.get(account)!),
    stop: () => emulator.stop(),
  };
}
