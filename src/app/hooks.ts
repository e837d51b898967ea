/** Credentials of those who call the daemon, and the listener of the hooks. */
import type { Config } from '#config/config.ts';
import type { EventBus } from '#foundation/events/events.ts';
import { Secret } from '#foundation/platform/secret.ts';
import type { ApiToken } from '#operate/http/access.ts';
import { startHooks, type Hooks } from '#operate/hooks/hooks.ts';
import type { HookDeps } from '#operate/hooks/hook-deps.ts';
import type { RunningServer } from '#operate/http/http-listener.ts';

/** @returns undefined when the configuration says of no address where to listen */
export async function startHookListener(config: Config, deps: HookDeps): Promise<RunningServer | undefined> {
  const { listen } = config.hooks;
  return listen === undefined ? undefined : startHooks(deps, hooksOf(config, deps.events), listen);
}

/** Those who may do more than read over the daemon's own address. */
export function apiTokens({ server }: Config, events: EventBus): ApiToken[] {
  return server.tokens.map(({ name, role, token, tokenFile }) => ({
    name,
    role,
    token:
      token === undefined
        ? Secret.fromFile(tokenFile!, (read) =>
            events.emit({ type: 'credential.read', account: '', credential: `server.tokens.${name}`, ...read }),
          )
        : Secret.of(token),
  }));
}

function hooksOf({ hooks, accounts }: Config, events: EventBus): Hooks {
  const secret = (account: string, credential: string, value: string | undefined, file: string | undefined): Secret =>
    value === undefined
      ? Secret.fromFile(file!, (read) => events.emit({ type: 'credential.read', account, credential, ...read }))
      : Secret.of(value);
  return {
    alertmanager: new Map(
      Object.entries(hooks.alertmanager).map(([name, { token, tokenFile, withoutAccount }]) => [
        name,
        { token: secret('', `hooks.alertmanager.${name}`, token, tokenFile), withoutAccount },
      ]),
    ),
    callbacks: new Map(
      Object.entries(hooks.callbacks).map(([account, hook]) => {
        const { token, tokenFile, signingKeys, signingKeysFile, url, maxBodyBytes } = hook;
        const isSigned = signingKeys !== undefined || signingKeysFile !== undefined;
        const signature = isSigned && {
          keys: secret(account, 'hooks.callbacks.signingKeys', signingKeys, signingKeysFile),
          ...(url !== undefined && { url }),
        };
        return [
          account,
          {
            token: secret(account, 'hooks.callbacks.token', token, tokenFile),
            ...(signature !== false && { signature }),
            headerPrefix: accounts.find(({ name }) => name === account)?.wire.headerPrefix ?? 'Svc',
            maxBodyBytes,
          },
        ];
      }),
    ),
  };
}
