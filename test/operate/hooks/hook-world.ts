/** The hooks over real HTTP, with a ledger in memory that records its calls, and settings of the test. */
import { createHash, createHmac } from 'node:crypto';
import { onTestFinished } from 'vitest';
import type { Deploy } from '#foundation/domain/deploy.ts';
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import { logEvents } from '#foundation/events/event-log.ts';
import { EventBus, type OpsEvent } from '#foundation/events/events.ts';
import { createLogger } from '#foundation/platform/logger.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { Secret } from '#foundation/platform/secret.ts';
import { createKeptBodies, type BodySettings, type NewBody } from '#automate/ledger/kept-bodies.ts';
import { startHooks, type CallbackHook, type Hooks } from '#operate/hooks/hooks.ts';
import type { HookDeps } from '#operate/hooks/hook-deps.ts';
import { ask, type Answer, type Ask } from '../http/world.ts';

export const NOW = Date.UTC(2026, 10, 18, 10, 30, 0);
export const AM_TOKEN = 'canary-am-4711';
export const CALLBACK_TOKEN = 'canary-callback-0815';
export const SIGNING_KEY = 'canary-key-current';
export const DEPLOY_TOKEN = 'canary-deploy-1234';
export const DEPLOY_KEY = 'canary-deploy-key';
export const CANARIES = [AM_TOKEN, CALLBACK_TOKEN, SIGNING_KEY, DEPLOY_TOKEN, DEPLOY_KEY];

interface HookWorldOptions {
  readonly policies?: ReturnType<HookDeps['policies']>;
  readonly amToken?: Secret;
  readonly callbacks?: Partial<CallbackHook>;
  /** Settings of the bodies of `production`. */
  readonly bodies?: BodySettings;
  readonly deploy?: Hooks['deploy'];
  readonly withoutAccount?: readonly string[];
}

export async function hookWorld(options: HookWorldOptions = {}) {
  const clock = new ManualClock(NOW);
  const events = new EventBus();
  const log: string[] = [];
  const said: OpsEvent[] = [];
  events.subscribe((event) => void said.push(event));
  const logger = createLogger({ level: 'debug', destination: { write: (line) => void log.push(line) } });
  logEvents(events, logger);
  const alerts: Parameters<HookDeps['ledger']['noteAlert']>[0][] = [];
  const deadLetters: DeadLetter[] = [];
  const bodies = new Map<string, NewBody>();
  const triggers = new Set<string>();
  const deploys: (Deploy & { readonly waiting: readonly string[] })[] = [];
  const runs: string[] = [];
  /** `until`: promise that the store waits for before it answers. `asked`: number of its calls. */
  const store = { isBroken: false, until: Promise.resolve(), asked: 0 };
  const check = async (): Promise<void> => {
    store.asked += 1;
    await store.until;
    if (store.isBroken) throw new Error('disk full');
  };
  const ledger: HookDeps['ledger'] = {
    async noteAlert(alert) {
      await check();
      const isNew = !alerts.some(({ key }) => key === alert.key);
      alerts.push(alert);
      return isNew;
    },
    async recordTrigger({ policy, account, trigger: { key } }) {
      await check();
      const isNew = !triggers.has(`${policy} ${account} ${key}`);
      triggers.add(`${policy} ${account} ${key}`);
      return isNew;
    },
    async noteDeadLetter(deadLetter, body) {
      await check();
      const isNewBody = body !== undefined && !bodies.has(deadLetter.dlqId);
      if (isNewBody) bodies.set(deadLetter.dlqId, body);
      deadLetters.push(deadLetter);
      return { isNewBody, dropped: 0 };
    },
    async recordDeploy({ failed, by: _by, ...deploy }, waiting) {
      await check();
      const id = deploys.length + 1;
      const stored = { ...deploy, id, isRollback: failed };
      deploys.push({ ...stored, waiting });
      return { deploy: stored, isNew: true };
    },
  };
  const policies = options.policies ?? [
    { name: 'on-billing', account: 'production', when: { alert: 'BillingDown' } },
    { name: 'on-other', account: 'production', when: { alert: 'Other' } },
    { name: 'on-dead-letters', account: 'production', when: { failureCallback: true } },
    { name: 'of-staging', account: 'staging', when: { failureCallback: true } },
    { name: 'on-deploy', account: 'production', when: { afterDeploy: 120_000 } },
    { name: 'each-hour', account: 'production', when: { every: 3_600_000 } },
  ];
  const server = await startHooks(
    {
      clock,
      events,
      logger,
      ledger,
      bodies: () => createKeptBodies(new Map(options.bodies && [['production', options.bodies]]), clock),
      accounts: () => ['production', 'staging'],
      policies: () => policies,
      run: (policy, trigger) => void runs.push(`${policy} ${trigger.kind} ${'key' in trigger ? trigger.key : ''}`),
    },
    {
      alertmanager: new Map([
        ['opsd', { token: options.amToken ?? Secret.of(AM_TOKEN), withoutAccount: options.withoutAccount ?? [] }],
      ]),
      deploy: { token: Secret.of(DEPLOY_TOKEN), signingKeys: Secret.of(DEPLOY_KEY), ...options.deploy },
      canaries: [],
      callbacks: new Map([
        [
          'production',
          { token: Secret.of(CALLBACK_TOKEN), headerPrefix: 'Svc', maxBodyBytes: 65_536, ...options.callbacks },
        ],
      ]),
    },
    { host: '127.0.0.1', port: 0 },
  );
  onTestFinished(async () => {
    const closed = server.close();
    await clock.advance(2_000);
    await closed;
  });
  const post = (path: string, body: string, more: Ask & { readonly token?: string } = {}): Promise<Answer> => {
    const { token, headers, ...rest } = more;
    const authorization: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
    return ask(server.address, path, { method: 'POST', body, ...rest, headers: { ...authorization, ...headers } });
  };
  return {
    address: server.address,
    server,
    clock,
    log,
    said,
    alerts,
    deadLetters,
    bodies,
    deploys,
    triggers,
    runs,
    store,
    post,
    notify: (body: unknown, token = AM_TOKEN) =>
      post('/hooks/alertmanager/opsd', typeof body === 'string' ? body : JSON.stringify(body), { token }),
    callback: (body: unknown, headers: Readonly<Record<string, string>> = {}) =>
      post('/hooks/callbacks/production', typeof body === 'string' ? body : JSON.stringify(body), {
        token: CALLBACK_TOKEN,
        headers,
      }),
  };
}

/** Builds a notification of Alertmanager, as in its documentation. */
export function notification(...alerts: readonly Readonly<Record<string, unknown>>[]) {
  return {
    version: '4',
    groupKey: '{}:{alertname="BillingDown"}',
    truncatedAlerts: 0,
    status: 'firing',
    receiver: 'opsd',
    groupLabels: { alertname: 'BillingDown' },
    commonLabels: {},
    commonAnnotations: {},
    externalURL: 'http://am.example.com',
    alerts,
  };
}

export function alert(overrides: Readonly<Record<string, unknown>> = {}) {
  return {
    status: 'firing',
    labels: { alertname: 'BillingDown', severity: 'page', account: 'production' },
    annotations: { summary: 'it is down' },
    startsAt: '2026-11-18T10:00:00.123456789Z',
    endsAt: '0001-01-01T00:00:00Z',
    generatorURL: 'http://prometheus.example.com/graph',
    fingerprint: 'c59e0211b0c52ba1',
    ...overrides,
  };
}

export const BODY = 'canary-body-1f2e';
export const QUERY = 'canary-query-77aa';

/** Builds a failure callback as the interface shows it. */
export function failureCallback(overrides: Readonly<Record<string, unknown>> = {}) {
  return {
    status: 503,
    header: { 'Content-Type': ['text/plain'] },
    body: Buffer.from(BODY).toString('base64'),
    retried: 3,
    maxRetries: 3,
    dlqId: 'dlq-1',
    sourceMessageId: 'msg-1',
    topicName: 'newsletter',
    url: `https://user:pass@app.example.com/orders?api_key=${QUERY}#x`,
    method: 'POST',
    sourceHeader: { 'Svc-Label': 'billing, email', Authorization: `Bearer ${BODY}` },
    sourceBody: Buffer.from(BODY).toString('base64'),
    notBefore: String(NOW - 60_000),
    createdAt: String(NOW - 60_000),
    callerIP: '192.0.2.7',
    ...overrides,
  };
}

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Builds a signature as the service does. Arguments change the parts that an attacker would. */
export function signed(
  body: string,
  claims: Readonly<Record<string, unknown>> = {},
  options: { readonly key?: string; readonly alg?: string } = {},
): string {
  const at = NOW / 1_000;
  const { key = SIGNING_KEY, alg = 'HS256' } = options;
  const own = {
    iss: 'msgsvc',
    sub: 'https://hooks.example.com/hooks/callbacks/production',
    iat: at,
    nbf: at,
    exp: at + 300,
    jti: 'jwt-1',
    body: createHash('sha256').update(body).digest('base64url'),
  };
  const text = `${part({ alg, typ: 'JWT' })}.${part({ ...own, ...claims })}`;
  return `${text}.${alg === 'none' ? '' : createHmac('sha256', key).update(text).digest('base64url')}`;
}
