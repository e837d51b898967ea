/** Causes that a publish meets: the service, the account, and the way between them. */
import { ACCOUNT_ID, MANAGEMENT, type Stage } from './stage.ts';
import { pick, type Cause } from './cause.ts';

const PUBLISHES = { operations: ['publish', 'trigger'] };
const EXHAUSTED = `quota exhausted: the account ${ACCOUNT_ID} has spent its budget of 20 dollars a month`;

const isPublish = ({ method }: { readonly method: string }): boolean => method === 'POST';
const isRead = ({ method }: { readonly method: string }): boolean => method === 'GET';

function refuse(stage: Stage, status: number, error?: string): void {
  const fault = { kind: 'status', status, ...(error !== undefined && { error }) } as const;
  stage.emulator.control.faults.add({ ...PUBLISHES, fault });
}

export const PUBLISH_CAUSES: readonly Cause[] = [
  {
    name: 'the service answers publishes with 5xx',
    truth: ['service'],
    inject: (stage, random) => refuse(stage, pick(random, [500, 502, 503, 504])),
  },
  {
    name: 'the service refuses connections',
    truth: ['service'],
    inject: ({ toService }) => toService.close(),
  },
  {
    name: 'the service hangs on publishes',
    truth: ['service'],
    inject: ({ toService }) => toService.choose((request) => (isPublish(request) ? 'hang' : 'pass')),
  },
  {
    name: 'the service breaks the connections of publishes',
    truth: ['service'],
    inject: ({ toService }) => toService.choose((request) => (isPublish(request) ? 'break' : 'pass')),
  },
  {
    name: 'the service hangs on everything',
    truth: ['service'],
    inject: ({ toService }) => toService.choose(() => 'hang'),
  },
  {
    // The message is accepted and may do all that it should.
    name: 'the response of the publish is lost',
    truth: ['service', 'ok'],
    inject: ({ emulator }) => void emulator.control.faults.add({ ...PUBLISHES, fault: { kind: 'lost' } }),
  },
  {
    name: 'the response of the publish is cut',
    truth: ['service', 'ok'],
    inject: ({ emulator }, random) => {
      const how = pick(random, ['json', 'connection'] as const);
      emulator.control.faults.add({ ...PUBLISHES, fault: { kind: 'truncated', how } });
    },
  },
  {
    name: 'a captive portal answers in place of the service',
    truth: ['unknown'],
    inject: ({ toService }) => toService.choose(() => ({ status: 200, body: '<html>Sign in to the Wi-Fi</html>' })),
  },
  {
    name: 'the network of the daemon is down',
    truth: ['unknown'],
    async inject({ toService, toReceiver }) {
      await toService.close();
      await toReceiver.close();
    },
  },
  {
    name: 'the token is rotated',
    truth: ['account'],
    async inject({ emulator }) {
      const authorization = `Basic ${Buffer.from(`${MANAGEMENT.username}:${MANAGEMENT.password}`).toString('base64')}`;
      const url = `${emulator.url}/v2/msgsvc/rotate-token/${ACCOUNT_ID}`;
      const { status } = await fetch(url, { method: 'POST', headers: { authorization } });
      if (status !== 200) throw new Error(`the token was not rotated: ${status}`);
    },
  },
  {
    name: 'the account is passive',
    truth: ['account'],
    inject: ({ emulator }) => emulator.control.setAccount({ state: 'passive' }),
  },
  {
    name: 'the account has reached its limit of requests',
    truth: ['account'],
    inject({ emulator }, random) {
      const form = pick(random, ['burst', 'daily'] as const);
      emulator.control.faults.add({ ...PUBLISHES, fault: { kind: 'rate-limit', form, resetMs: 3_600_000 } });
    },
  },
  {
    name: 'the budget of the account is spent',
    truth: ['account'],
    inject: (stage) => refuse(stage, 429, EXHAUSTED),
  },
  {
    name: 'the budget of the account is spent after the publish',
    truth: ['account'],
    inject: ({ emulator }) =>
      void emulator.control.deliveryFaults.add({ fault: { kind: 'unreachable', how: 'dns', error: EXHAUSTED } }),
  },
  {
    name: 'the message is larger than the account allows',
    truth: ['account'],
    inject: (stage) => refuse(stage, 413, 'the message is too large: the plan allows 100 bytes'),
  },
  {
    name: 'the log answers 5xx',
    truth: ['service_reporting', 'service'],
    inject: ({ emulator }, random) => {
      const fault = { kind: 'status', status: pick(random, [500, 502, 503]) } as const;
      emulator.control.faults.add({ operations: ['list-logs'], fault });
    },
  },
  {
    name: 'reads of the log are beyond the limit of the account',
    truth: ['account'],
    inject: ({ emulator }) => {
      const fault = { kind: 'rate-limit', form: 'daily', resetMs: 3_600_000 } as const;
      emulator.control.faults.add({ operations: ['list-logs'], fault });
    },
  },
  {
    name: 'the service breaks the connections of reads',
    truth: ['service', 'service_reporting'],
    inject: ({ toService }) => toService.choose((request) => (isRead(request) ? 'break' : 'pass')),
  },
];
