/** Configuration for the daemon: complete, checked, all paths absolute. */
import type { MessageApiSettings } from '#service/settings.ts';
import { isOf, type PolicySettings } from '#automate/policies/settings.ts';
import type { WebConfig } from '#operate/http/web-settings.ts';
import type { AccountSettings, ConfigSettings } from './settings.ts';

/** Account. The short form (`url`, `token`, `tokenFile`) becomes part of `messageApi`. */
export type Account = Omit<AccountSettings, 'url' | 'token' | 'tokenFile'>;

export interface LoadedPolicy {
  readonly settings: PolicySettings;
  /** `policies/billing.yaml:3`, relative to the folder of the configuration. */
  readonly source: string;
}

export interface Config extends Omit<ConfigSettings, 'accounts' | 'policies'> {
  /** Absolute path of the SQLite file. With PostgreSQL, the socket of commands is where it is for such a file. */
  readonly localPath: string;
  /** Contents of the web configuration files, if any. They change independently of the configuration. */
  readonly security: { readonly server?: WebConfig; readonly hooks?: WebConfig };
  readonly accounts: readonly Account[];
  /** Inline policies first, then those of the files, in order. */
  readonly policies: readonly LoadedPolicy[];
  /** Absolute path. */
  readonly sourceFile: string;
  /** Absolute paths of all files: the configuration, then the policy files. */
  readonly files: readonly string[];
  /**
   * Hash of the contents of these files, without the name of the replica, and the names of the listeners with TLS:
   * SHA-256, hexadecimal.
   */
  readonly hash: string;
  /** Hash of the contents of these files, of the web configuration files, and of the files that those name. */
  readonly contents: string;
  /** Hash of everything that decides what policies do: the result of `policyPart`. */
  readonly policyPart: string;
}

export interface ConfigParts {
  readonly settings: ConfigSettings;
  /** Path of the store, relative to the configuration. */
  readonly storePath: string;
  readonly policies: readonly LoadedPolicy[];
  readonly sourceFile: string;
  readonly files: readonly string[];
  readonly hash: string;
  readonly contents: string;
  readonly security: Config['security'];
  readonly policyPart: string;
  /** Makes a path of the configuration absolute. */
  readonly absolute: (path: string) => string;
}

export function composeConfig(parts: ConfigParts): Config {
  const { settings, storePath, policies, sourceFile, files, hash, contents, security, policyPart, absolute } = parts;
  const { killSwitchFile, ...engine } = settings.engine;
  const { webhook, alertmanager } = settings.notifications;
  const { backup, postgres } = settings.storage;
  const localPath = absolute(storePath);
  return {
    ...settings,
    server: {
      ...withAbsolute(settings.server, ['webConfigFile'], absolute),
      tokens: settings.server.tokens.map((token) => withAbsolute(token, ['tokenFile'], absolute)),
    },
    storage: {
      ...settings.storage,
      ...(postgres === undefined
        ? { sqlite: { path: localPath } }
        : { postgres: withAbsolute(postgres, ['urlFile'], absolute) }),
      ...(backup !== undefined && { backup: withAbsolute(backup, ['dir'], absolute) }),
    },
    accounts: settings.accounts.map((account) => composeAccount(account, absolute)),
    hooks: {
      ...withAbsolute(settings.hooks, ['webConfigFile'], absolute),
      alertmanager: mapValues(settings.hooks.alertmanager, (hook) => withAbsolute(hook, ['tokenFile'], absolute)),
      callbacks: mapValues(settings.hooks.callbacks, (hook) =>
        withAbsolute(hook, ['tokenFile', 'signingKeysFile'], absolute),
      ),
    },
    notifications: {
      ...settings.notifications,
      ...(webhook !== undefined && {
        webhook: withAbsolute(webhook, ['urlFile', 'tokenFile', 'certFile', 'keyFile'], absolute),
      }),
      ...(alertmanager !== undefined && {
        alertmanager: withAbsolute(alertmanager, ['tokenFile', 'certFile', 'keyFile'], absolute),
      }),
      owners: mapValues(settings.notifications.owners, (owner) => ({
        webhook: withAbsolute(owner.webhook, ['urlFile', 'tokenFile', 'certFile', 'keyFile'], absolute),
      })),
    },
    engine: { ...engine, ...(killSwitchFile === undefined ? {} : { killSwitchFile: absolute(killSwitchFile) }) },
    policies: policies.map((policy) => composePolicy(policy, absolute)),
    policyFiles: settings.policyFiles.map(absolute),
    localPath,
    sourceFile,
    files,
    hash,
    contents,
    security: {
      server: security.server,
      hooks: security.hooks,
    },
    policyPart,
  };
}

function composeAccount(settings: AccountSettings, absolute: (path: string) => string): Account {
  const { url, token, tokenFile, messageApi, managementApi, ...account } = settings;
  const short: MessageApiSettings | undefined = url === undefined ? undefined : { url, token, tokenFile };
  const message = messageApi ?? short;
  const ofMessage = ['tokenFile', 'actionTokenFile', 'certFile', 'keyFile'] as const;
  const ofManagement = ['passwordFile', 'certFile', 'keyFile'] as const;
  return {
    ...account,
    ...(message === undefined ? {} : { messageApi: withAbsolute(message, ofMessage, absolute) }),
    ...(managementApi === undefined ? {} : { managementApi: withAbsolute(managementApi, ofManagement, absolute) }),
  };
}

function composePolicy(policy: LoadedPolicy, absolute: (path: string) => string): LoadedPolicy {
  const { settings } = policy;
  if (!isOf(settings, 'workflow-dlq.delete')) return policy;
  const { archive } = settings.action;
  const action = { ...settings.action, archive: { ...archive, dir: absolute(archive.dir) } };
  return { ...policy, settings: { ...settings, action } };
}

function withAbsolute<T extends object>(
  settings: T,
  keys: readonly (keyof T)[],
  absolute: (path: string) => string,
): T {
  const result = { ...settings };
  for (const key of keys) {
    const path = result[key];
    if (typeof path === 'string') result[key] = absolute(path) as T[typeof key];
  }
  return result;
}

function mapValues<T>(record: Readonly<Record<string, T>>, map: (value: T) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}
