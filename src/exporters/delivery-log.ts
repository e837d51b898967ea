/**
 * Writes the lines of the outbox to a file or to standard output, at least once each. The target is opened anew for each
 * batch, so that rotation by renaming works, and never waited for: a pipe that nobody empties takes no thread and holds
 * up nothing; the lines wait in the store meanwhile.
 */
import { constants, type PathLike } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import type { DeliveryOutbox } from '../folds/delivery-outbox.ts';
import type { Clock } from '../platform/clock.ts';
import type { EventBus } from '../platform/events.ts';
import type { TelemetrySettings } from './settings.ts';

const RETRY_MS = 1_000;
/** A full pipe is looked at again so soon, and told of when it took nothing for so many looks. */
const FULL_MS = 50;
const LOOKS_TOLD = 20;
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;

export interface DeliveryLogDeps {
  readonly outbox: DeliveryOutbox;
  readonly settings: NonNullable<TelemetrySettings['deliveryEvents']>;
  readonly clock: Clock;
  readonly events: EventBus;
}

export function createDeliveryLog({ outbox, settings, clock, events }: DeliveryLogDeps): AsyncDisposable {
  // Standard output by its path: opened anew it may refuse without waiting, and the process's own stays as it is.
  const target: PathLike = settings.file ?? '/dev/stdout';
  const stop = new AbortController();
  let running: Promise<void> | undefined;
  /** Ends in the turn in which the outbox was seen to be empty: lines stored after that begin anew. */
  let isBusy = false;
  /** What of the oldest lines a full pipe took already. */
  let taken = { id: 0, bytes: 0 };
  let looks = 0;

  function start(): void {
    if (stop.signal.aborted || isBusy) return;
    isBusy = true;
    running = drain();
  }

  async function drain(): Promise<void> {
    try {
      for (let batch = outbox.next(); batch !== undefined && !stop.signal.aborted; batch = outbox.next()) {
        const bytes = Buffer.from(batch.text);
        if (taken.id !== batch.id) taken = { id: batch.id, bytes: 0 };
        await using handle = await open(target, FLAGS, 0o640);
        await writeRest(handle, bytes);
        outbox.settle(batch.id);
        events.emit({ type: 'deliveries.written', count: batch.lines });
      }
    } catch (error) {
      const { code = 'unknown' } = error as NodeJS.ErrnoException;
      const isFull = code === 'EAGAIN';
      looks = isFull ? looks + 1 : 0;
      // Whoever reads next has not seen the beginning of what was cut off.
      if (!isFull) taken = { id: 0, bytes: 0 };
      if (!isFull || looks % LOOKS_TOLD === 0) events.emit({ type: 'deliveries.failing', reason: code });
      clock.after(isFull ? FULL_MS : RETRY_MS, start);
    } finally {
      isBusy = false;
    }
  }

  async function writeRest(handle: FileHandle, bytes: Buffer): Promise<void> {
    while (taken.bytes < bytes.length) {
      const { bytesWritten } = await handle.write(bytes, taken.bytes);
      taken = { ...taken, bytes: taken.bytes + bytesWritten };
      looks = 0;
    }
  }

  const subscription = outbox.onStored(start);
  start();
  return {
    async [Symbol.asyncDispose]() {
      subscription[Symbol.dispose]();
      await running;
      stop.abort();
    },
  };
}
