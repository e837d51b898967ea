/**
 * The composition root's part about accounts: how each is reached, with which credentials, and what is watched of it;
 * and the embedded service for those that ask for it.
 */
import { randomBytes } from 'node:crypto';
import { errorMessage } from '#foundation/platform/error-message.ts';
import type { ClientOptions } from '#service/create-client.ts';
import type { CollectorTarget } from '#observe/collectors/index.ts';
import type { Account, Config } from '#config/config.ts';
import { workflowLabel } from '#foundation/domain/workflow-label.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { Api, EventBus } from '#foundation/events/events.ts';
import type { Logger } from '#foundation/platform/logger.ts';
import type { Random } from '#foundation/platform/random.ts';
import { Secret } from '#foundation/platform/secret.ts';

/** An account as the daemon meets it. */
export interface Connection {
  readonly account: Account;
  readonly apis: readonly Api[];
  readonly client: ClientOptions;
  readonly target: CollectorTarget;
}

/** How an account is reached, and what is watched of it. */
export function connection(account: Account, embedded: Embedded | undefined, events: EventBus): Connection {
  const secret = (name: string, value: string | undefined, file: string | undefined): Secret | undefined => {
    if (value !== undefined) return Secret.of(value);
    if (file === undefined) return undefined;
    return Secret.fromFile(file, (read) =>
      events.emit({ type: 'credential.read', account: account.name, credential: name, ...read }),
    );
  };
  const { messageApi, managementApi } = account;
  const isEmbedded = messageApi?.url === 'embedded' && embedded !== undefined;
  const actionToken = secret('actionToken', messageApi?.actionToken, messageApi?.actionTokenFile);
  const message = isEmbedded
    ? { url: embedded.url, token: embedded.token(account.name) }
    : messageApi && {
        url: messageApi.url,
        token: secret('token', messageApi.token, messageApi.tokenFile)!,
        ...(actionToken !== undefined && { actionToken }),
      };
  const management = isEmbedded
    ? { url: embedded.url, ...embedded.management }
    : managementApi && {
        url: managementApi.url,
        username: managementApi.username,
        password: secret('password', managementApi.password, managementApi.passwordFile)!,
      };
  const accountId = isEmbedded ? account.name : managementApi?.accountId;
  return {
    account,
    apis: [...(message ? (['message'] as const) : []), ...(management ? (['management'] as const) : [])],
    client: {
      account: account.name,
      ...(message && { messageApi: message }),
      ...(management && { managementApi: management }),
      wire: account.wire,
      limits: account.client,
    },
    target: {
      account: account.name,
      ...(accountId !== undefined && { accountId }),
      hasMessageApi: message !== undefined,
      hasManagementApi: management !== undefined,
      flowControlKeys: account.flowControlKeys,
      searchIndexes: account.searchIndexes,
      vectorIndexes: account.vectorIndexes,
      ...(account.limits.dlqRetention !== undefined && { dlqRetentionMs: account.limits.dlqRetention }),
      settings: account.collectors,
    },
  };
}

/** Values of labels that the configuration names, by account. */
export function configuredLabels(config: Config): (account: string, label: string) => readonly string[] {
  const policies = (account: string) => config.policies.filter(({ settings }) => settings.account === account);
  return (account, label) => {
    const selects = policies(account).map(({ settings }) => settings.select);
    if (label === 'workflow') {
      return selects.flatMap((select) => ('workflowUrl' in select ? select.workflowUrl : [])).map(workflowLabel);
    }
    if (label !== 'flow_control_key') return [];
    const watched = config.accounts.find(({ name }) => name === account)?.flowControlKeys ?? [];
    return [...watched, ...selects.flatMap((select) => ('flowControlKey' in select ? select.flowControlKey : []))];
  };
}

/** The embedded service of this process. */
export interface Embedded {
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

/** The embedded service for the accounts that ask for it, on a free loopback port, with credentials nobody knows. */
export async function startEmbedded(
  config: Config,
  { clock, random, logger }: EmbeddedDeps,
): Promise<Embedded | undefined> {
  const accounts = config.accounts.filter((account) => account.messageApi?.url === 'embedded');
  const [first] = accounts;
  if (first === undefined) return undefined;
  const { startEmulator } = await import('#emulator/emulator.ts');
  const word = (): string => randomBytes(18).toString('base64url');
  const tokens = new Map(accounts.map((account) => [account.name, word()]));
  const management = { username: 'opsd', password: word() };
  const emulator = await startEmulator({
    clock,
    random,
    listen: { host: '127.0.0.1', port: 0 },
    accounts: [...tokens].map(([id, token]) => ({ id, token })),
    management,
    headerPrefix: first.wire.headerPrefix,
    product: first.wire.product,
    onError: (error) => logger.error({ error: errorMessage(error) }, 'the embedded service failed'),
  });
  return {
    url: emulator.url,
    management: { username: management.username, password: Secret.of(management.password) },
    token: (account) => Secret.of(tokens.get(account)!),
    stop: () => emulator.stop(),
  };
}
