/** Causes within the service after it accepted a message, and on its way to the receiver. */
import type { DeliveryFaultRule } from '#emulator/types/public.ts';
import { CANARY_LABEL } from '#foundation/domain/canary.ts';
import { FLOW_KEY, TIMEOUT_MS, TOKEN, type Stage } from './stage.ts';
import { causes, pick, WITH_CALLBACK, type Cause } from './cause.ts';

type Fault = DeliveryFaultRule['fault'];

/** Adds a fault of the canary's own messages, not of their callbacks. */
function fault({ emulator }: Stage, given: Fault): void {
  emulator.control.deliveryFaults.add({ label: CANARY_LABEL, fault: given });
}

/** Returns an injection of a fault. */
const faulty = (given: Fault) => (stage: Stage) => fault(stage, given);

const reads =
  (operation: string, given: Parameters<Stage['emulator']['control']['faults']['add']>[0]['fault']) =>
  ({ emulator }: Stage) =>
    void emulator.control.faults.add({ operations: [operation], fault: given });

/** Texts of other services, and of other systems, for connections that fail. */
const OTHER_TEXTS = [
  'dial tcp: lookup hooks.example: no such host',
  'dial tcp 192.0.2.7:443: connect: connection refused',
  'x509: certificate signed by unknown authority',
  'context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
  'EOF',
];

/** Limits the key, and publishes another message with it, to a destination that never answers. */
async function occupy({ emulator }: Stage, limit: Parameters<typeof emulator.control.hold>[0]): Promise<void> {
  emulator.control.hold(limit);
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
  ...causes(
    ['throttled'],
    {
      'the flow-control key is paused': ({ emulator }) => void emulator.control.hold({ key: FLOW_KEY, paused: true }),
      'the parallelism of the flow-control key is used up': (stage) => occupy(stage, { key: FLOW_KEY, parallelism: 1 }),
      'the rate of the flow-control key is used up': (stage) =>
        occupy(stage, { key: FLOW_KEY, rate: { max: 1, periodMs: 7_200_000 } }),
    },
    { vias: ['key'] },
  ),
  // Both the key and the service keep the message.
  ...causes(
    ['throttled', 'service'],
    {
      'the flow-control key is paused, and cannot be read'(stage) {
        stage.emulator.control.hold({ key: FLOW_KEY, paused: true });
        reads('get-flow-control', { kind: 'status', status: 500 })(stage);
      },
    },
    { vias: ['key'] },
  ),
];

const NETWORK = causes(['network'], {
  ...Object.fromEntries(
    (['dns', 'refused', 'reset', 'tls', 'timeout'] as const).map((how) => [
      `the service cannot reach the receiver: ${how}`,
      faulty({ kind: 'unreachable', how }),
    ]),
  ),
  'the service cannot reach the receiver, in other words': (stage, random) =>
    fault(stage, { kind: 'unreachable', how: 'dns', error: pick(random, OTHER_TEXTS) }),
});

const SERVICE: readonly Cause[] = [
  ...causes(['service'], {
    'the service does not attempt the message': faulty({ kind: 'held' }),
    'the service attempts the message late': faulty({ kind: 'held', ms: TIMEOUT_MS + 15_000 }),
    'the service sends the message twice': faulty({ kind: 'sent-twice' }),
    'the service alters the message': (stage, random) =>
      fault(stage, { kind: 'altered', how: pick(random, ['cut', 'changed'] as const) }),
  }),
  ...causes(['service', 'service_reporting'], {
    'the service reports a delivery that it did not make': faulty({ kind: 'misreported', status: 200, sent: false }),
  }),
];

const REPORTING: readonly Cause[] = [
  ...causes(['service_reporting'], {
    'the log does not report the delivery': faulty({ kind: 'unlogged', states: ['DELIVERED'] }),
    'the log does not report the message': faulty({ kind: 'unlogged' }),
    'the log is ten minutes late': reads('list-logs', { kind: 'late', ms: 600_000 }),
    'no callback is sent': { vias: WITH_CALLBACK, inject: faulty({ kind: 'no-callback' }) },
    'log and callback report a failure that the receiver did not return': (stage, random) =>
      fault(stage, { kind: 'misreported', status: pick(random, [500, 502, 404]) }),
  }),
  ...causes(['service_reporting', 'service'], {
    'log and callback report a failure of an attempt that was not made': (stage, random) =>
      fault(stage, { kind: 'misreported', status: pick(random, [500, 502, 404]), sent: false }),
  }),
];

const nothing = (): void => undefined;

/** Sets the clock of the daemon when the first request passes. */
const jumping =
  (ms: number) =>
  (stage: Stage): void => {
    let isSet = false;
    stage.toReceiver.choose(() => {
      if (!isSet) stage.jump(ms);
      isSet = true;
      return 'pass';
    });
  };

const HOUR_MS = 3_600_000;

const ALL_RIGHT = causes(['ok'], {
  'nothing is wrong': nothing,
  'the log is five seconds late': reads('list-logs', { kind: 'late', ms: 5_000 }),
  'the log has each entry twice': reads('list-logs', { kind: 'duplicate' }),
  'the clock of the service is an hour behind': { signed: false, skewMs: -HOUR_MS, inject: nothing },
  'the clock of the service is an hour ahead': { signed: false, skewMs: HOUR_MS, inject: nothing },
  'the clock of the service is half a minute ahead': { skewMs: 30_000, inject: nothing },
  'the clock of the daemon is set an hour back in flight': { signed: false, inject: jumping(-HOUR_MS) },
  'the clock of the daemon is set an hour ahead in flight': { signed: false, inject: jumping(HOUR_MS) },
});

export const DELIVERY_CAUSES: readonly Cause[] = [...THROTTLED, ...NETWORK, ...SERVICE, ...REPORTING, ...ALL_RIGHT];
