/**
 * Checks of the listeners that no schema can make: it reads their web configuration files, and checks that callers can
 * authenticate.
 */
import { statSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import type { WebConfig } from '#operate/http/web-settings.ts';
import type { ConfigProblem } from './problem.ts';
import { unreadable } from './read-file.ts';
import type { Fault } from './source-text.ts';
import { suggestionOr } from '#foundation/domain/suggest.ts';
import { readWebConfig } from './web-config.ts';
import { faultAt, faultAtKey, itemsAt, placeAt, textAt, type Place } from './yaml-place.ts';

export interface SecurityRead {
  /** Faults in the configuration itself. */
  readonly faults: readonly Fault[];
  /** Problems in the web configuration files. */
  readonly problems: readonly ConfigProblem[];
  readonly server?: WebConfig;
  readonly hooks?: WebConfig;
  /** Contents of all files, in order. */
  readonly texts: readonly string[];
}

export interface SecurityOptions {
  readonly absolute: (path: string) => string;
  /** Displayed path of the configuration's file. */
  readonly file: string;
  /** False: files are not read. */
  readonly secrets: boolean;
}

const NO_USERS_OF_HOOKS = 'hooks use bearer tokens, in hooks.alertmanager and hooks.callbacks; remove the users';

export function checkListenerSecurity(root: Place, options: SecurityOptions): SecurityRead {
  const faults: Fault[] = [];
  const taken = itemsAt(root, 'server', 'tokens').flatMap((token) => textAt(token, 'name')?.value ?? []);
  const server = readSecurity(root, 'server', { ...options, taken, faults });
  const hooks = readSecurity(root, 'hooks', { ...options, taken, faults, noUsers: NO_USERS_OF_HOOKS });
  faults.push(...checkUsers(root, server?.web, options.secrets), ...checkAnonymous(root, taken, server?.web));
  const unused = placeAt(root, ['hooks', 'webConfigFile']);
  if (unused !== undefined && placeAt(root, ['hooks', 'listen']) === undefined) {
    const help = 'add hooks.listen, such as :10778';
    faults.push(faultAtKey(unused, { message: 'not used: the hooks have no address', help, severity: 'warning' }));
  }
  return {
    faults,
    problems: [...(server?.problems ?? []), ...(hooks?.problems ?? [])],
    server: server?.web,
    hooks: hooks?.web,
    texts: [...(server?.texts ?? []), ...(hooks?.texts ?? [])],
  };
}

interface Reading extends SecurityOptions {
  readonly taken: readonly string[];
  readonly faults: Fault[];
  readonly noUsers?: string;
}

function readSecurity(root: Place, listener: 'server' | 'hooks', { faults, ...options }: Reading) {
  const place = textAt(root, listener, 'webConfigFile');
  if (place === undefined || !options.secrets) return undefined;
  const written = place.value;
  const file = options.absolute(written);
  try {
    statSync(file);
  } catch (error) {
    const help = `${isAbsolute(written) ? '' : 'the path is relative to the folder of this file; '}opsd check --no-secrets skips such files`;
    faults.push(faultAt(place, { message: unreadable(error), help }));
    return undefined;
  }
  const shown = isAbsolute(written) ? written : join(dirname(options.file), written);
  return readWebConfig(file, { ...options, shown });
}

/**
 * Checks roles of users that do not exist. If the file has other users, this is only a warning: a user removed from one
 * file must lose access, whether or not the other file still has the role. A file without any user may allow everyone.
 */
function checkUsers(root: Place, web: WebConfig | undefined, isLookedAt: boolean): Fault[] {
  const users = placeAt(root, ['server', 'users']);
  if (users?.entries === undefined || users.entries.size === 0) return [];
  if (placeAt(root, ['server', 'webConfigFile']) === undefined) {
    const help = 'add server.webConfigFile, with basic_auth_users in that file';
    return [faultAtKey(users, { message: 'no users exist, since no file defines them', help })];
  }
  if (web === undefined || !isLookedAt) return [];
  const known = [...web.users.keys()];
  return [...users.entries]
    .filter(([name]) => !web.users.has(name))
    .map(([name, place]) => {
      const there = known.length === 0 ? 'the file has no users' : `the file has ${known.join(', ')}`;
      const help = suggestionOr(there, name, known);
      const message = 'the web configuration file has no user of this name';
      return faultAtKey(place, { message, help, severity: known.length > 0 ? 'warning' : 'error' });
    });
}

function checkAnonymous(root: Place, tokens: readonly string[], web: WebConfig | undefined): Fault[] {
  const place = placeAt(root, ['server', 'anonymous']);
  const mayHaveUsers =
    placeAt(root, ['server', 'webConfigFile']) !== undefined && (web === undefined || web.users.size > 0);
  if (place?.value === 'none' && tokens.length === 0 && !mayHaveUsers) {
    const message = 'no caller could authenticate: there are neither tokens nor users';
    return [faultAt(place, { message, help: 'add server.tokens, or users in server.webConfigFile' })];
  }
  if (place?.value === 'viewer' && (web?.users.size ?? 0) > 0) {
    const message = 'not used: if there are users, every caller must be one or have a token';
    return [faultAt(place, { message, help: 'remove it', severity: 'warning' })];
  }
  return [];
}
