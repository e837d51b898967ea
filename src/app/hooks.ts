/** Credentials of callers of the daemon. */
import type { Config } from '#config/config.ts';
import type { EventBus } from '#foundation/events/events.ts';
import type { ApiToken } from '#operate/http/access.ts';
import type { CallbackHook, Hooks } from '#operate/hooks/hooks.ts';
import { credentialOf } from './credentials.ts';

/** Tokens for more than reading over the daemon's own address. */
export function apiTokens({ server }: Config, events: EventBus): ApiToken[] {
  return server.tokens.map(({ name, role, token, tokenFile }) => ({
    name,
    role,
    token: credentialOf(events, { credential: `server.tokens.${name}` }, token, tokenFile),
  }));
}

/** Alertmanagers and accounts with open hooks. */
export function hooksOf({ hooks, accounts }: Config, events: EventBus): Hooks {
  const optionalCredential = (credential: string, value: string | undefined, file: string | undefined) =>
    value === undefined && file === undefined ? undefined : credentialOf(events, { credential }, value, file);
  /** Check of the signatures of an account; undefined without signing keys. */
  const signatureOf = (account: string): CallbackHook['signature'] => {
    const { signingKeys, signingKeysFile, url } = hooks.callbacks[account] ?? {};
    if (signingKeys === undefined && signingKeysFile === undefined) return undefined;
    return {
      keys: credentialOf(events, { account, credential: 'hooks.callbacks.signingKeys' }, signingKeys, signingKeysFile),
      url,
    };
  };
  const { token, tokenFile, signingKeys, signingKeysFile } = hooks.deploy ?? {};
  const deploy = {
    token: optionalCredential('hooks.deploy.token', token, tokenFile),
    signingKeys: optionalCredential('hooks.deploy.signingKeys', signingKeys, signingKeysFile),
  };
  return {
    ...(hooks.deploy !== undefined && { deploy }),
    alertmanager: new Map(
      Object.entries(hooks.alertmanager).map(([name, { token, tokenFile, withoutAccount }]) => [
        name,
        { token: credentialOf(events, { credential: `hooks.alertmanager.${name}` }, token, tokenFile), withoutAccount },
      ]),
    ),
    callbacks: new Map(
      Object.entries(hooks.callbacks).map(([account, hook]) => {
        const { token, tokenFile, maxBodyBytes } = hook;
        return [
          account,
          {
            token: credentialOf(events, { account, credential: 'hooks.callbacks.token' }, token, tokenFile),
            signature: signatureOf(account),
            headerPrefix: accounts.find(({ name }) => name === account)?.wire.headerPrefix ?? 'Svc',
            maxBodyBytes,
          },
        ];
      }),
    ),
    canaries: accounts.flatMap(({ name: account, canaries, wire }) => {
      const signature = signatureOf(account);
      return canaries.map(({ name: canary, size, realSize }) => ({
        account,
        canary,
        // The address of the callbacks is another one.
        signature: signature && { keys: signature.keys },
        headerPrefix: wire.headerPrefix,
        maxBytes: Math.max(size, realSize),
      }));
    }),
  };
}
