/** Settings of the daemon's own HTTP servers. */
import { z } from 'zod';
import { oneSecret, secret, secretFile } from '#service/settings.ts';
import { always, baseUrlSetting, listenSetting } from '#foundation/platform/settings.ts';
import { ROLES } from './access.ts';

/** Who else may not stand in the audit log under these names. */
const OWN_NAMES = ['local', 'engine'];
const TOKEN_NAME = 'expected letters, digits, dots, hyphens and underscores, at most 63; not local or engine';

const apiToken = z
  .strictObject({
    name: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/, TOKEN_NAME)
      .refine((name) => !OWN_NAMES.includes(name), TOKEN_NAME)
      .describe('Stands in the audit log for whoever uses the token.'),
    role: z
      .enum(ROLES)
      .describe(
        'viewer asks what policies say of an entry; operator also plans, applies, approves, rejects and pauses; admin also unpauses and adopts.',
      ),
    token: secret('The bearer token; several on a line each are all taken').exactOptional(),
    tokenFile: secretFile('the bearer token; several on a line each are all taken').exactOptional(),
  })
  .superRefine(oneSecret('token'), always);

const webConfigFile = (what: string) =>
  z
    .string()
    .min(1)
    .exactOptional()
    .describe(`Web configuration file, as Prometheus’ exporters have it: ${what}; read again when it changes.`);

const HOST_NAME = /^(?:\*\.)?(?=.{1,253}$)[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,62})(?:\.[A-Za-z0-9_-]{1,63})*\.?$/;

export const serverSettings = z.strictObject({
  listen: listenSetting().prefault('127.0.0.1:10777').describe('Address of metrics, health and pages.'),
  hosts: z
    .array(z.string().regex(HOST_NAME, 'expected a host name, or *. and a domain; leave out scheme and port'))
    .default([])
    .describe(
      'Names that clients use for `listen`, such as that of an Ingress; `*.` stands for any labels. IP addresses, names without a dot, and names in `localhost`, `svc`, `cluster.local`, `internal` and `home.arpa` are always allowed.',
    ),
  tokens: z
    .array(apiToken)
    .default([])
    .superRefine((tokens, context) => {
      // What is of another type is told of as that.
      const names = Array.isArray(tokens) ? tokens.map((one: { readonly name?: unknown } | null) => one?.name) : [];
      for (const [index, name] of names.entries()) {
        if (typeof name !== 'string' || names.indexOf(name) === index) continue;
        const message = `two tokens are named ${name}; the audit log could not tell who it was`;
        context.addIssue({ code: 'custom', path: [index, 'name'], message });
      }
    }, always)
    .describe('Who may do more than read over `listen`, by bearer token. Without any it is read-only.'),
  webConfigFile: webConfigFile('TLS, users and headers of `listen`'),
  users: z
    .record(z.string(), z.enum(ROLES))
    .default({})
    .describe('Roles of users of the web configuration file, by name; who is not named here is a viewer.'),
  anonymous: z
    .enum(['viewer', 'none'])
    .default('viewer')
    .describe('What those may who show neither token nor user: read, or nothing. Where there are users, nothing.'),
  probes: z
    .strictObject({
      listen: listenSetting()
        .exactOptional()
        .describe('Address of `/-/healthy` and `/-/ready`, and of nothing else; off unless given.'),
    })
    .prefault({})
    .describe(
      'A listener of their own for the probes of an orchestrator: plain HTTP, and it asks nobody who they are.',
    ),
});

const HOOK_NAME = 'expected letters, digits, dots, hyphens and underscores, at most 63';
const hookName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/, HOOK_NAME);

const token = {
  token: secret('Bearer token that is asked for; several on a line each are all taken').exactOptional(),
  tokenFile: secretFile('the bearer token that is asked for; several on a line each are all taken').exactOptional(),
};

const alertmanagerHook = z
  .strictObject({
    ...token,
    withoutAccount: z
      .array(z.string().min(1))
      .default([])
      .describe(
        'Accounts that an alert without a label `account` concerns. Without any, such an alert triggers no policy, and `alertFiring` is not known.',
      ),
  })
  .superRefine(oneSecret('token'), always);

const callbackHook = z
  .strictObject({
    ...token,
    signingKeys: secret('Signing keys of the account, the current one and the next one on a line each').exactOptional(),
    signingKeysFile: secretFile(
      'the signing keys of the account, the current one and the next one on a line each; without them signatures are not looked at',
    ).exactOptional(),
    url: baseUrlSetting()
      .exactOptional()
      .describe('Address that callbacks are sent to, as the service knows it; a signature for another is refused.'),
    maxBodyBytes: z
      .int()
      .min(1_024)
      .max(67_108_864)
      .default(4_194_304)
      .describe('Largest callback that is read, in bytes; it holds the bodies of message and answer.'),
  })
  .superRefine((value, context) => {
    oneSecret('token')(value, context);
    oneSecret('signingKeys', 'optional')(value, context);
  }, always);

export const hooksSettings = z.strictObject({
  listen: listenSetting()
    .exactOptional()
    .describe('Address of the hooks, and of nothing else: it may be open to the Internet. Off unless given.'),
  webConfigFile: webConfigFile('TLS, certificates of clients and headers of the hooks; they have tokens, and no users'),
  alertmanager: z
    .record(hookName, alertmanagerHook)
    .default({})
    .describe('Alertmanagers that may trigger policies, by the NAME in `/hooks/alertmanager/NAME`.'),
  callbacks: z
    .record(hookName, callbackHook)
    .default({})
    .describe('Accounts whose callbacks are taken, by the name of the account, at `/hooks/callbacks/ACCOUNT`.'),
});
