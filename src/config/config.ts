/** Configuration for the daemon: complete, checked, all paths absolute. */
import type { PolicySettings } from '#automate/policies/settings.ts';
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

export interface ConfigParts extends Omit<Config, keyof ConfigSettings | 'localPath'> {
  readonly settings: ConfigSettings;
  /** Path of the store, relative to the configuration. */
  readonly storePath: string;
  readonly policies: readonly LoadedPolicy[];
  /** Makes a path of the configuration absolute. */
  readonly absolute: (path: string) => string;
}

export function composeConfig({ settings, storePath, policies, absolute, ...parts }: ConfigParts): Config {
  const { accounts, policies: _policies, policyFiles, storage, ...rest } = absolutePaths(settings, absolute);
  const localPath = absolute(storePath);
  return {
    ...rest,
    storage: storage.postgres === undefined ? { ...storage, sqlite: { path: localPath } } : storage,
    accounts: accounts.map(composeAccount),
    policies: policies.map((policy) => absolutePaths(policy, absolute)),
    policyFiles: policyFiles.map(absolute),
    localPath,
    ...parts,
  };
}

function composeAccount({ url, token, tokenFile, ...account }: AccountSettings): Account {
  return url === undefined || account.messageApi !== undefined
    ? account
    : { ...account, messageApi: { url, token, tokenFile } };
}

/** Keys of settings that are paths. */
const PATH_KEY = /File$|^dir$/;
/** Places of mappings from names that an author chooses to texts, which are no paths. */
const FREE_TEXTS = [
  'server.users',
  'telemetry.traces.otlp.headers',
  'notifications.webhook.headers',
  'notifications.alertmanager.headers',
  'notifications.alertmanager.labels',
  'notifications.owners.*.webhook.headers',
].map((place) => place.split('.'));

function isFree(place: readonly string[]): boolean {
  return FREE_TEXTS.some(
    (free) => free.length === place.length && free.every((key, index) => key === '*' || key === place[index]),
  );
}

/** Returns settings whose paths of files and folders are absolute. */
function absolutePaths<T>(settings: T, absolute: (path: string) => string, place: readonly string[] = []): T {
  if (Array.isArray(settings)) return settings.map((item: unknown) => absolutePaths(item, absolute, place)) as T;
  if (typeof settings !== 'object' || settings === null || isFree(place)) return settings;
  return Object.fromEntries(
    Object.entries(settings).map(([key, value]: [string, unknown]) => {
      const isPath = PATH_KEY.test(key) && typeof value === 'string';
      return [key, isPath ? absolute(value) : absolutePaths(value, absolute, [...place, key])];
    }),
  ) as T;
}
