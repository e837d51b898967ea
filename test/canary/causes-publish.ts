/** Causes that a publish meets: the service, the account, and the way between them. */
import { ACCOUNT_ID, MANAGEMENT, type Stage } from './stage.ts';
import { causes, pick, type Cause } from './cause.ts';

const PUBLISHES = { operations: ['publish', 'trigger'] };
const EXHAUSTED = `quota exhausted: the account ${ACCOUNT_ID} has spent its budget of 20 dollars a month`;

const isPublish = ({ method }: { readonly method: string }): boolean => method === 'POST';
const isRead = ({ method }: { readonly method: string }): boolean => method === 'GET';

type Fault = Parameters<Stage['emulator']['control']['faults']['add']>[0]['fault'];

function failPublishes({ emulator }: Stage, fault: Fault): void {
  emulator.control.faults.add({ ...PUBLISHES, fault });
}

function failLog({ emulator }: Stage, fault: Fault): void {
  emulator.control.faults.add({ operations: ['list-logs'], fault });
}

export const PUBLISH_CAUSES: readonly Cause[] = [
  ...causes(['service'], {
    'the service answers publishes with 5xx': (stage, random) =>
      failPublishes(stage, { kind: 'status', status: pick(random, [500, 502, 503, 504]) }),
    'the service refuses connections': ({ toService }) => toService.close(),
    'the service hangs on publishes': ({ toService }) =>
      toService.choose((request) => (isPublish(request) ? 'hang' : 'pass')),
    'the service breaks the connections of publishes': ({ toService }) =>
      toService.choose((request) => (isPublish(request) ? 'break' : 'pass')),
    'the service hangs on everything': ({ toService }) => toService.choose(() => 'hang'),
  }),
  // The message is accepted and may do all that it should.
  ...causes(['service', 'ok'], {
    'the response of the publish is lost': (stage) => failPublishes(stage, { kind: 'lost' }),
    'the response of the publish is cut': (stage, random) =>
      failPublishes(stage, { kind: 'truncated', how: pick(random, ['json', 'connection'] as const) }),
  }),
  ...causes(['unknown'], {
    'a captive portal answers in place of the service': ({ toService }) =>
      toService.choose(() => ({ status: 200, body: '<html>Sign in to the Wi-Fi</html>' })),
    async 'the network of the daemon is down'({ toService, toReceiver }) {
      await toService.close();
      await toReceiver.close();
    },
  }),
  ...causes(['account'], {
    async 'the token is rotated'({ emulator }) {
      const authorization = `Basic ${Buffer.from(`${MANAGEMENT.username}:${MANAGEMENT.password}`).toString('base64')}`;
      const url = `${emulator.url}/v2/msgsvc/rotate-token/${ACCOUNT_ID}`;
      const { status } = await fetch(url, { method: 'POST', headers: { authorization } });
      if (status !== 200) throw new Error(`the token was not rotated: ${status}`);
    },
    'the account is passive': ({ emulator }) => emulator.control.setAccount({ state: 'passive' }),
    'the account has reached its limit of requests': (stage, random) =>
      failPublishes(stage, {
        kind: 'rate-limit',
        form: pick(random, ['burst', 'daily'] as const),
        resetMs: 3_600_000,
      }),
    'the budget of the account is spent': (stage) =>
      failPublishes(stage, { kind: 'status', status: 429, error: EXHAUSTED }),
    'the budget of the account is spent after the publish': ({ emulator }) =>
      void emulator.control.deliveryFaults.add({ fault: { kind: 'unreachable', how: 'dns', error: EXHAUSTED } }),
    'the message is larger than the account allows': (stage) => {
      const error = 'the message is too large: the plan allows 100 bytes';
      failPublishes(stage, { kind: 'status', status: 413, error });
    },
  }),
  ...causes(['service_reporting', 'service'], {
    'the log answers 5xx': (stage, random) => failLog(stage, { kind: 'status', status: pick(random, [500, 502, 503]) }),
  }),
  ...causes(['account'], {
    'reads of the log are beyond the limit of the account': (stage) =>
      failLog(stage, { kind: 'rate-limit', form: 'daily', resetMs: 3_600_000 }),
  }),
  ...causes(['service', 'service_reporting'], {
    'the service breaks the connections of reads': ({ toService }) =>
      toService.choose((request) => (isRead(request) ? 'break' : 'pass')),
  }),
];
