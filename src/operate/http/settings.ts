/** Settings of the daemon's own HTTP servers. */
import * as z from 'zod/mini';
import {
  group,
  baseUrlSetting,
  crossCheck,
  defaulted,
  described,
  wholeNumber,
  listenSetting,
  matching,
  oneSecret,
  optional,
  secret,
  secretFile,
  settingsBlock,
  someText,
} from '#foundation/settings/blocks.ts';
import { ROLES } from './access.ts';

/** Names that the audit log reserves. */
const OWN_NAMES = ['local', 'engine'];
const TOKEN_NAME = 'expected letters, digits, dots, hyphens and underscores, at most 63; not local or engine';

const apiToken = () =>
  z
    .strictObject({
      name: described(
        'Name in the audit log for the token’s user.',
        z.string().check(
          z.regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/, TOKEN_NAME),
          z.refine((name) => !OWN_NAMES.includes(name), TOKEN_NAME),
        ),
      ),
      role: described(
        'viewer: explain entries. operator: also plan, apply, approve, reject and pause. admin: also unpause and adopt.',
        z.enum(ROLES),
      ),
      token: secret('The bearer token. Several tokens, one on each line, are all valid'),
      tokenFile: secretFile('the bearer token. Several tokens, one on each line, are all valid'),
    })
    .check(crossCheck(oneSecret('token')));

const webConfigFile = (what: string) =>
  optional(
    `Web configuration file, in the format of Prometheus’ exporters: ${what}. It is reloaded when it changes.`,
    someText,
  );

const HOST_NAME = /^(?:\*\.)?(?=.{1,253}$)[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,62})(?:\.[A-Za-z0-9_-]{1,63})*\.?$/;

export const serverSettings = z.strictObject({
  listen: defaulted('Address of metrics, health and pages.', listenSetting(), '127.0.0.1:10777'),
  hosts: defaulted(
    'Names that clients use for `listen`, such as that of an Ingress; `*.` stands for any labels. IP addresses, names without a dot, and names in `localhost`, `svc`, `cluster.local`, `internal` and `home.arpa` are always allowed.',
    z.array(matching(HOST_NAME, 'expected a host name, or *. and a domain; remove scheme and port')),
    [],
  ),
  externalUrl: optional(
    'Base URL of the pages as operators reach them, for links in notifications; default: the address of `listen`.',
    baseUrlSetting(),
  ),
  tokens: defaulted(
    'Callers that may do more than read over `listen`, by bearer token. Without tokens it is read-only.',
    z.array(z.lazy(apiToken)).check(
      crossCheck((tokens, context) => {
        // Another check reports a value of the wrong type.
        const names = Array.isArray(tokens) ? tokens.map((one: { readonly name?: unknown } | null) => one?.name) : [];
        for (const [index, name] of names.entries()) {
          if (typeof name !== 'string' || names.indexOf(name) === index) continue;
          const message = `two tokens are named ${name}; rename one, so that the audit log can distinguish them`;
          context.addIssue({ code: 'custom', path: [index, 'name'], message });
        }
      }),
    ),
    [],
  ),
  webConfigFile: webConfigFile('TLS, users and headers of `listen`'),
  users: settingsBlock(
    'Roles of users of the web configuration file, by name. Other users are viewers.',
    z.record(z.string(), z.enum(ROLES)),
  ),
  anonymous: defaulted(
    'Permission of unauthenticated requests. viewer: read-only. none: reject them. If there are users, they are always rejected.',
    z.enum(['viewer', 'none']),
    'viewer',
  ),
  probes: group('Separate listener for the probes of an orchestrator: plain HTTP, without authentication.', {
    listen: optional('Address for `/-/healthy` and `/-/ready` only. Default: none.', listenSetting()),
  }),
});

const HOOK_NAME = 'expected letters, digits, dots, hyphens and underscores, at most 63';
const hookName = matching(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/, HOOK_NAME);

const token = {
  token: secret('Required bearer token. Several tokens, one on each line, are all valid'),
  tokenFile: secretFile('the required bearer token. Several tokens, one on each line, are all valid'),
};

const alertmanagerHook = () =>
  z
    .strictObject({
      ...token,
      withoutAccount: defaulted(
        'Accounts of alerts without a label `account`. By default such an alert triggers no policy, and `alertFiring` is unknown.',
        z.array(someText),
        [],
      ),
    })
    .check(crossCheck(oneSecret('token')));

const callbackHook = () =>
  z
    .strictObject({
      ...token,
      signingKeys: secret('Signing keys of the account, the current one and the next one on a line each'),
      signingKeysFile: secretFile(
        'the signing keys of the account, the current one and the next one on a line each. Without keys, signatures are not checked',
      ),
      url: optional(
        'Address of the callbacks in the service’s settings. Signatures for other addresses are rejected.',
        baseUrlSetting(),
      ),
      maxBodyBytes: defaulted(
        'Maximum size of a callback in bytes, including the bodies of message and response.',
        wholeNumber(1_024, 67_108_864),
        4_194_304,
      ),
    })
    .check(crossCheck(oneSecret('token')), crossCheck(oneSecret('signingKeys', 'optional')));

const deployHook = () =>
  z
    .strictObject({
      ...token,
      signingKeys: secret('Keys of the signature `Opsd-Signature`, one on each line'),
      signingKeysFile: secretFile('the keys of the signature `Opsd-Signature`, one on each line'),
    })
    .check(
      crossCheck((value, context) => {
        const hasKeys = value.signingKeys !== undefined || value.signingKeysFile !== undefined;
        oneSecret('token', hasKeys ? 'optional' : undefined)(value, context);
        oneSecret('signingKeys', 'optional')(value, context);
      }),
    );

export const hooksSettings = z.strictObject({
  listen: optional('Address for the hooks only. It may be open to the Internet. Default: none.', listenSetting()),
  publicUrl: optional('Base URL under which the service reaches `listen`. Canaries need it.', baseUrlSetting()),
  webConfigFile: webConfigFile('TLS, client certificates and headers of the hooks, which have tokens instead of users'),
  alertmanager: settingsBlock(
    'Alertmanagers that may trigger policies, by the NAME in `/hooks/alertmanager/NAME`.',
    z.record(hookName, z.lazy(alertmanagerHook)),
  ),
  callbacks: settingsBlock(
    'Accounts whose callbacks are accepted at `/hooks/callbacks/ACCOUNT`, by name.',
    z.record(hookName, z.lazy(callbackHook)),
  ),
  deploy: optional('Reports of deploys at `/hooks/deploy`, with a token or a signature.', z.lazy(deployHook)),
});
