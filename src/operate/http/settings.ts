/** Settings of the daemon's own HTTP servers. */
import { z } from 'zod';
import { always, baseUrlSetting, listenSetting, oneSecret, secret, secretFile } from '#foundation/platform/settings.ts';
import { ROLES } from './access.ts';

/** Names that the audit log reserves. */
const OWN_NAMES = ['local', 'engine'];
const TOKEN_NAME = 'expected letters, digits, dots, hyphens and underscores, at most 63; not local or engine';

const apiToken = () =>
  z
    .strictObject({
      name: z
        .string()
        .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/, TOKEN_NAME)
        .refine((name) => !OWN_NAMES.includes(name), TOKEN_NAME)
        .describe('Name in the audit log for the token’s user.'),
      role: z
        .enum(ROLES)
        .describe(
          'viewer: explain entries. operator: also plan, apply, approve, reject and pause. admin: also unpause and adopt.',
        ),
      token: secret('The bearer token. Several tokens, one on each line, are all valid').exactOptional(),
      tokenFile: secretFile('the bearer token. Several tokens, one on each line, are all valid').exactOptional(),
    })
    .superRefine(oneSecret('token'), always);

const webConfigFile = (what: string) =>
  z
    .string()
    .min(1)
    .exactOptional()
    .describe(
      `Web configuration file, in the format of Prometheus’ exporters: ${what}. It is reloaded when it changes.`,
    );

const HOST_NAME = /^(?:\*\.)?(?=.{1,253}$)[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,62})(?:\.[A-Za-z0-9_-]{1,63})*\.?$/;

export const serverSettings = z.strictObject({
  listen: listenSetting().prefault('127.0.0.1:10777').describe('Address of metrics, health and pages.'),
  hosts: z
    .array(z.string().regex(HOST_NAME, 'expected a host name, or *. and a domain; remove scheme and port'))
    .default([])
    .describe(
      'Names that clients use for `listen`, such as that of an Ingress; `*.` stands for any labels. IP addresses, names without a dot, and names in `localhost`, `svc`, `cluster.local`, `internal` and `home.arpa` are always allowed.',
    ),
  externalUrl: baseUrlSetting()
    .exactOptional()
    .describe(
      'Base URL of the pages as operators reach them, for links in notifications; default: the address of `listen`.',
    ),
  tokens: z
    .array(z.lazy(apiToken))
    .default([])
    .superRefine((tokens, context) => {
      // Another check reports a value of the wrong type.
      const names = Array.isArray(tokens) ? tokens.map((one: { readonly name?: unknown } | null) => one?.name) : [];
      for (const [index, name] of names.entries()) {
        if (typeof name !== 'string' || names.indexOf(name) === index) continue;
        const message = `two tokens are named ${name}; rename one, so that the audit log can distinguish them`;
        context.addIssue({ code: 'custom', path: [index, 'name'], message });
      }
    }, always)
    .describe('Callers that may do more than read over `listen`, by bearer token. Without tokens it is read-only.'),
  webConfigFile: webConfigFile('TLS, users and headers of `listen`'),
  users: z
    .record(z.string(), z.enum(ROLES))
    .default({})
    .describe('Roles of users of the web configuration file, by name. Other users are viewers.'),
  anonymous: z
    .enum(['viewer', 'none'])
    .default('viewer')
    .describe(
      'Permission of unauthenticated requests. viewer: read-only. none: reject them. If there are users, they are always rejected.',
    ),
  probes: z
    .strictObject({
      listen: listenSetting().exactOptional().describe('Address for `/-/healthy` and `/-/ready` only. Default: none.'),
    })
    .prefault({})
    .describe('Separate listener for the probes of an orchestrator: plain HTTP, without authentication.'),
});

const HOOK_NAME = 'expected letters, digits, dots, hyphens and underscores, at most 63';
const hookName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/, HOOK_NAME);

const token = {
  token: secret('Required bearer token. Several tokens, one on each line, are all valid').exactOptional(),
  tokenFile: secretFile('the required bearer token. Several tokens, one on each line, are all valid').exactOptional(),
};

const alertmanagerHook = () =>
  z
    .strictObject({
      ...token,
      withoutAccount: z
        .array(z.string().min(1))
        .default([])
        .describe(
          'Accounts of alerts without a label `account`. By default such an alert triggers no policy, and `alertFiring` is unknown.',
        ),
    })
    .superRefine(oneSecret('token'), always);

const callbackHook = () =>
  z
    .strictObject({
      ...token,
      signingKeys: secret(
        'Signing keys of the account, the current one and the next one on a line each',
      ).exactOptional(),
      signingKeysFile: secretFile(
        'the signing keys of the account, the current one and the next one on a line each. Without keys, signatures are not checked',
      ).exactOptional(),
      url: baseUrlSetting()
        .exactOptional()
        .describe('Address of the callbacks in the service’s settings. Signatures for other addresses are rejected.'),
      maxBodyBytes: z
        .int()
        .min(1_024)
        .max(67_108_864)
        .default(4_194_304)
        .describe('Maximum size of a callback in bytes, including the bodies of message and response.'),
    })
    .superRefine((value, context) => {
      oneSecret('token')(value, context);
      oneSecret('signingKeys', 'optional')(value, context);
    }, always);

export const hooksSettings = z.strictObject({
  listen: listenSetting()
    .exactOptional()
    .describe('Address for the hooks only. It may be open to the Internet. Default: none.'),
  publicUrl: baseUrlSetting()
    .exactOptional()
    .describe('Base URL under which the service reaches `listen`. Canaries need it.'),
  webConfigFile: webConfigFile('TLS, client certificates and headers of the hooks, which have tokens instead of users'),
  alertmanager: z
    .record(hookName, z.lazy(alertmanagerHook))
    .default({})
    .describe('Alertmanagers that may trigger policies, by the NAME in `/hooks/alertmanager/NAME`.'),
  callbacks: z
    .record(hookName, z.lazy(callbackHook))
    .default({})
    .describe('Accounts whose callbacks are accepted at `/hooks/callbacks/ACCOUNT`, by name.'),
});
