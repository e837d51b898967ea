/** Causes within the service after it accepted a message, and on its way to the receiver. */
import type { DeliveryFaultRule } from '#emulator/types/public.ts';
import { CANARY_LABEL } from '#foundation/domain/canary.ts';
import { FLOW_KEY, TIMEOUT_MS, TOKEN, type Stage } from './stage.ts';
import { pick, WITH_CALLBACK, type Cause } from './cause.ts';

type Fault = DeliveryFaultRule['fault'];

/** Adds a fault of the canary's own messages, not of their callbacks. */
function fault({ emulator }: Stage, given: Fault): void {
  emulator.control.deliveryFaults.add({ label: CANARY_LABEL, fault: given });
}

/** Texts of other services, and of other systems, for connections that fail. */
const OTHER_TEXTS = [
  'dial tcp: lookup hooks.example: no such host',
  'dial tcp 192.0.2.7:443: connect: connection refused',
  'x509: certificate signed by unknown authority',
  'context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
  'EOF',
];

/** Publishes another message with the key, to a destination that never answers. */
async function occupy({ emulator }: Stage): Promise<void> {
  await emulator.destinations.script('busy.example', ['hang']);
  await fetch(`${emulator.url}/v2/publish/http://busy.example/`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${TOKEN}`,
      'Svc-Timeout': '2h',
      'Svc-Flow-Control-Key': FLOW_KEY,
      'Svc-Flow-Control-Value': 'parallelism=1',
    },
    // Another cause may reject it.
  }).catch(() => undefined);
}

const THROTTLED: readonly Cause[] = [
  {
    name: 'the flow-control key is paused',
    truth: ['throttled'],
    vias: ['key'],
    inject: ({ emulator }) => void emulator.control.hold({ key: FLOW_KEY, paused: true }),
  },
  {
    name: 'the parallelism of the flow-control key is used up',
    truth: ['throttled'],
    vias: ['key'],
    async inject(stage) {
      stage.emulator.control.hold({ key: FLOW_KEY, parallelism: 1 });
      await occupy(stage);
    },
  },
  {
    name: 'the rate of the flow-control key is used up',
    truth: ['throttled'],
    vias: ['key'],
    async inject(stage) {
      stage.emulator.control.hold({ key: FLOW_KEY, rate: { max: 1, periodMs: 7_200_000 } });
      await occupy(stage);
    },
  },
  {
    // Both the key and the service keep the message.
    name: 'the flow-control key is paused, and cannot be read',
    truth: ['throttled', 'service'],
    vias: ['key'],
    inject({ emulator }) {
      emulator.control.hold({ key: FLOW_KEY, paused: true });
      emulator.control.faults.add({ operations: ['get-flow-control'], fault: { kind: 'status', status: 500 } });
    },
  },
];

const NETWORK: readonly Cause[] = [
  ...(['dns', 'refused', 'reset', 'tls', 'timeout'] as const).map((how): Cause => ({
    name: `the service cannot reach the receiver: ${how}`,
    truth: ['network'],
    inject: (stage) => fault(stage, { kind: 'unreachable', how }),
  })),
  {
    name: 'the service cannot reach the receiver, in other words',
    truth: ['network'],
    inject: (stage, random) => fault(stage, { kind: 'unreachable', how: 'dns', error: pick(random, OTHER_TEXTS) }),
  },
];

const SERVICE: readonly Cause[] = [
  {
    name: 'the service does not attempt the message',
    truth: ['service'],
    inject: (stage) => fault(stage, { kind: 'held' }),
  },
  {
    name: 'the service attempts the message late',
    truth: ['service'],
    inject: (stage) => fault(stage, { kind: 'held', ms: TIMEOUT_MS + 15_000 }),
  },
  {
    name: 'the service sends the message twice',
    truth: ['service'],
    inject: (stage) => fault(stage, { kind: 'sent-twice' }),
  },
  {
    name: 'the service alters the message',
    truth: ['service'],
    inject: (stage, random) => fault(stage, { kind: 'altered', how: pick(random, ['cut', 'changed'] as const) }),
  },
  {
    name: 'the service reports a delivery that it did not make',
    truth: ['service', 'service_reporting'],
    inject: (stage) => fault(stage, { kind: 'misreported', status: 200, sent: false }),
  },
];

const REPORTING: readonly Cause[] = [
  {
    name: 'the log does not report the delivery',
    truth: ['service_reporting'],
    inject: (stage) => fault(stage, { kind: 'unlogged', states: ['DELIVERED'] }),
  },
  {
    name: 'the log does not report the message',
    truth: ['service_reporting'],
    inject: (stage) => fault(stage, { kind: 'unlogged' }),
  },
  {
    name: 'the log is ten minutes late',
    truth: ['service_reporting'],
    inject: ({ emulator }) =>
      void emulator.control.faults.add({ operations: ['list-logs'], fault: { kind: 'late', ms: 600_000 } }),
  },
  {
    name: 'no callback is sent',
    truth: ['service_reporting'],
    vias: WITH_CALLBACK,
    inject: (stage) => fault(stage, { kind: 'no-callback' }),
  },
  {
    name: 'log and callback report a failure that the receiver did not return',
    truth: ['service_reporting'],
    inject: (stage, random) => fault(stage, { kind: 'misreported', status: pick(random, [500, 502, 404]) }),
  },
  {
    name: 'log and callback report a failure of an attempt that was not made',
    truth: ['service_reporting', 'service'],
    inject: (stage, random) =>
      fault(stage, { kind: 'misreported', status: pick(random, [500, 502, 404]), sent: false }),
  },
];

const ALL_RIGHT: readonly Cause[] = [
  { name: 'nothing is wrong', truth: ['ok'], inject: () => undefined },
  {
    name: 'the log is five seconds late',
    truth: ['ok'],
    inject: ({ emulator }) =>
      void emulator.control.faults.add({ operations: ['list-logs'], fault: { kind: 'late', ms: 5_000 } }),
  },
  {
    name: 'the log has each entry twice',
    truth: ['ok'],
    inject: ({ emulator }) =>
      void emulator.control.faults.add({ operations: ['list-logs'], fault: { kind: 'duplicate' } }),
  },
  ...[-3_600_000, 3_600_000].map((skewMs): Cause => ({
    name: `the clock of the service is an hour ${skewMs < 0 ? 'behind' : 'ahead'}`,
    truth: ['ok'],
    signed: false,
    skewMs,
    inject: () => undefined,
  })),
  {
    name: 'the clock of the service is half a minute ahead',
    truth: ['ok'],
    skewMs: 30_000,
    inject: () => undefined,
  },
  ...[-3_600_000, 3_600_000].map((ms): Cause => ({
    name: `the clock of the daemon is set an hour ${ms < 0 ? 'back' : 'ahead'} in flight`,
    truth: ['ok'],
    signed: false,
    inject: (stage) => {
      let isSet = false;
      stage.toReceiver.choose(() => {
        if (!isSet) stage.jump(ms);
        isSet = true;
        return 'pass';
      });
    },
  })),
];

export const DELIVERY_CAUSES: readonly Cause[] = [...THROTTLED, ...NETWORK, ...SERVICE, ...REPORTING, ...ALL_RIGHT];
