/**
 * Writes numbered lines to its standard output as the daemon does. Ends the log when all are written or standard input
 * ends. Reports events on standard error. Arguments: number of lines, and bytes of each.
 */
import { createDeliveryLog } from '#observe/tracing/delivery-log.ts';
import type { DeliveryOutbox } from '#observe/aggregation/delivery-outbox.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { EventBus } from '#foundation/events/events.ts';

const AT_ONCE = 500;
const [count = 0, bytes = 0] = process.argv.slice(2).map(Number);
const lines = Array.from({ length: count }, (_, n) => `${JSON.stringify({ n, filler: 'x'.repeat(bytes) })}\n`);
let settled = 0;
const isDone = Promise.withResolvers<void>();

const outbox: DeliveryOutbox = {
  async next() {
    const some = lines.slice(settled, settled + AT_ONCE);
    return some.length === 0 ? undefined : { ids: some.map((_line, n) => settled + n), text: some.join('') };
  },
  async settle(ids) {
    settled += ids.length;
    if (settled === lines.length) isDone.resolve();
  },
  get queued() {
    return lines.length - settled;
  },
  onStored: () => ({ [Symbol.dispose]: () => undefined }),
};

const events = new EventBus();
events.subscribe((event) => void process.stderr.write(`${JSON.stringify(event)}\n`));
const log = createDeliveryLog({ outbox, settings: { stdout: true }, clock: systemClock, events });
process.stdin.once('end', isDone.resolve).resume();
await isDone.promise;
process.stdin.destroy();
await log[Symbol.asyncDispose]();
process.stderr.write(`${JSON.stringify({ type: 'ended', queued: outbox.queued })}\n`);
// As main.ts does.
process.once('beforeExit', () => process.exit());
