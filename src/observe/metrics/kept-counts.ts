/**
 * Keeps counters of the daemon itself across restarts. Each increase is added to the totals in the store after a short
 * delay and exported from there. So an exported value never decreases. A `kill -9` loses the increases of the delay.
 */
import { OWN, type Increment, type TotalsStore } from '../aggregation/totals.ts';
import type { Clock, Timer } from '#foundation/platform/clock.ts';
import type { EventBus, OpsEvent } from '#foundation/events/events.ts';
import { OneByOne } from '#foundation/platform/one-by-one.ts';
import type { CounterName } from '../catalog/catalog.ts';

/** Delay between writes, because each write waits for the disk. */
const DELAY_MS = 1_000;

export interface KeptCountsDeps {
  readonly events: EventBus;
  /** Store of the totals. It reports its own failures. */
  readonly totals: Pick<TotalsStore, 'add'>;
  readonly clock: Clock;
}

/** @returns a disposable that writes the remaining increases and stops */
export function keepCounts({ events, totals, clock }: KeptCountsDeps): AsyncDisposable {
  const writes = new OneByOne();
  let pending = new Map<string, Increment>();
  let timer: Timer | undefined;
  let hasEnded = false;

  function add({ metric, labels, by }: Increment): void {
    const key = [metric, ...labels].join('\0');
    pending.set(key, { metric, labels, by: by + (pending.get(key)?.by ?? 0) });
    if (hasEnded) return;
    timer ??= clock.after(DELAY_MS, () => {
      timer = undefined;
      void writes.run(write);
    });
  }

  async function write(): Promise<void> {
    if (pending.size === 0) return;
    const written = [...pending.values()];
    pending = new Map();
    try {
      await totals.add(OWN, written);
    } catch {
      // The next write has them as well.
      for (const increment of written) add(increment);
    }
  }

  const subscription = events.subscribe((event) => {
    const counted = countedBy(event);
    if (counted === undefined) return;
    const [metric, labels, by] = counted;
    add({ metric, labels, by });
  });
  return {
    async [Symbol.asyncDispose]() {
      subscription[Symbol.dispose]();
      hasEnded = true;
      timer?.cancel();
      await writes.run(write);
    },
  };
}

function countedBy(event: OpsEvent): readonly [metric: CounterName, labels: readonly string[], by: number] | undefined {
  if (event.type === 'spans.exported') return ['opsd_spans_exported_total', [], event.count];
  if (event.type === 'spans.dropped') return ['opsd_spans_dropped_total', [event.reason], event.count];
  if (event.type === 'deliveries.written') return ['opsd_delivery_events_written_total', [], event.count];
  if (event.type === 'deliveries.dropped') return ['opsd_delivery_events_dropped_total', [], event.count];
  return undefined;
}
