/** Load while requests are fuzzed: messages of all kinds, time that moves, and temporary faults of the service. */
import type { ServerResponse } from 'node:http';
import type { RunningEmulator } from '#emulator/emulator.ts';
import type { Fault } from '#emulator/types/public.ts';
import type { Random } from '#foundation/platform/random.ts';
import type { SunkRequest } from '../http-sink.ts';
import type { Credentials } from './draft.ts';
import type { Tolerance } from './verdict.ts';

/** Behavior of a destination, by its path. */
const PLACES = ['ok', 'bad', 'flaky', 'final', 'reset'] as const;

const FAULTS: readonly Fault[] = [
  { kind: 'latency', ms: 5 },
  { kind: 'status', status: 503, retryAfter: 1 },
  { kind: 'rate-limit', form: 'burst' },
  { kind: 'lost' },
  { kind: 'truncated' },
  { kind: 'truncated', how: 'connection' },
  { kind: 'repeated-cursor' },
  { kind: 'missing-fields', fields: ['messageId', 'cursor'] },
  { kind: 'ignored-filters', names: ['label'] },
  { kind: 'seconds' },
  { kind: 'late', ms: 60_000 },
  { kind: 'duplicate', share: 0.5 },
  { kind: 'missing', share: 0.5 },
  { kind: 'clock-skew', ms: -90_000 },
];

/** Effects of these faults on any response. */
export const UNDER_FAULTS: Tolerance = { statuses: [503], broken: true };

const LONGEST_MOVE_MS = 600_000;

/** Builds a well-formed publish or trigger, as bytes. Its destination decides whether it fails. */
export function work(random: Random, sink: string, { token }: Credentials): Buffer {
  const one = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!;
  const workflow = random() < 0.3;
  const body = 'b'.repeat(Math.floor(random() * 200));
  const lines = [
    `POST /v2/${workflow ? 'trigger' : 'publish'}/${sink}/${placeOf(random)} HTTP/1.1`,
    'Connection: close',
    'Host: x',
    `Authorization: Bearer ${token}`,
    `Content-Length: ${body.length}`,
    // Some ask for more than any plan allows.
    `Svc-Retries: ${one([0, 1, 2, 3, 3, 1, 2, 99])}`,
    'Svc-Retry-Delay: 1000 * (1 + retried)',
    `Svc-Delay: ${one(['0s', '5s', '10m'])}`,
    ...(workflow ? [] : [`Svc-Timeout: ${one(['10s', '15m'])}`]),
    `Svc-Label: l${Math.floor(random() * 5)}`,
    ...(random() < 0.5
      ? [
          `Svc-Flow-Control-Key: k${Math.floor(random() * 3)}`,
          'Svc-Flow-Control-Value: parallelism=2, rate=5, period=10',
        ]
      : []),
    ...(random() < 0.3 ? [`Svc-Failure-Callback: ${sink}/${placeOf(random)}`] : []),
    ...(random() < 0.2 && !workflow ? [`Svc-Callback: ${sink}/ok`, 'Svc-Redact-Fields: body'] : []),
    ...(random() < 0.1 && !workflow ? ['Svc-Deduplication-Id: same'] : []),
  ];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`);
}

/** A move waits in real time for each delivery that hangs: few do. */
function placeOf(random: Random): string {
  return random() < 0.03 ? 'hang' : PLACES[Math.floor(random() * PLACES.length)]!;
}

/** Moves time and changes faults until it is told to stop, and then leaves no fault behind. */
export async function unrest(emulator: RunningEmulator, random: Random, stopping: () => boolean): Promise<void> {
  const { faults } = emulator.control;
  while (!stopping()) {
    faults.clear();
    faults.add({ probability: 0.3, fault: FAULTS[Math.floor(random() * FAULTS.length)]! });
    await emulator.advance(Math.floor(random() * LONGEST_MOVE_MS), { patienceMs: 20 });
    // Requests have their turn in between.
    await new Promise((resolve) => setImmediate(resolve));
  }
  faults.clear();
}

/** A destination that behaves as its path says. */
export function asItsPathSays({ url, headers }: SunkRequest, response: ServerResponse): void {
  const place = url.slice(1);
  const failed = place === 'bad' || (place === 'flaky' && headers['svc-retried'] === '0');
  if (place === 'hang') return;
  if (place === 'reset') response.destroy();
  else if (place === 'final') response.writeHead(489, { 'Svc-NonRetryable-Error': 'true' }).end();
  else response.writeHead(failed ? 500 : 200).end(url);
}
