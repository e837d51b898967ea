/**
 * Writes the lines of the outbox to a file or to standard output, each at least once. A file is opened again for each
 * batch, so that rotation by renaming works. Writes never block. A full pipe uses no thread and delays nothing; the
 * lines wait in the store. This process keeps no lines: a written line is with the operating system, whenever the
 * process ends.
 */
import { constants, write } from 'node:fs';
import { open } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { DeliveryOutbox } from '../aggregation/delivery-outbox.ts';
import { type Clock, keepAlive } from '#foundation/platform/clock.ts';
import type { EventBus } from '#foundation/events/events.ts';
import { sleep } from '#foundation/platform/sleep.ts';
import type { DeliveryEventsSettings } from './settings.ts';

const RETRY_MS = 1_000;
/** Interval of attempts to write to a full pipe, and the number of failed attempts between two reports. */
const FULL_MS = 50;
const LOOKS_TOLD = 20;
/** Maximum wait for a slow reader at the end, so that its last line is not cut off. */
const CLOSE_LIMIT_MS = 1_000;
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;

export interface DeliveryLogDeps {
  readonly outbox: DeliveryOutbox;
  readonly settings: DeliveryEventsSettings;
  readonly clock: Clock;
  readonly events: EventBus;
}

export function createDeliveryLog({ outbox, settings, clock, events }: DeliveryLogDeps): AsyncDisposable {
  const openTarget = settings.file === undefined ? standardOutput() : fileTarget(settings.file);
  const stop = new AbortController();
  let running: Promise<void> | undefined;
  /** True while the outbox is being drained. */
  let isBusy = false;
  /** True if lines were stored since the last look at the outbox. A drain does not end before it has looked again. */
  let isWoken = false;
  /** Bytes of the oldest lines that a full pipe has already taken. New lines follow these. */
  let taken = 0;
  let looks = 0;
  let isFull = false;

  function start(): void {
    if (stop.signal.aborted) return;
    isWoken = true;
    if (isBusy) return;
    isBusy = true;
    running = drain();
  }

  async function drain(): Promise<void> {
    try {
      while (isWoken && !stop.signal.aborted) {
        isWoken = false;
        const batch = await outbox.next();
        if (batch === undefined) continue;
        isWoken = true;
        const bytes = Buffer.from(batch.text);
        await using opened = await openTarget();
        await writeRest(opened, bytes);
        await outbox.settle(batch.ids);
        taken = 0;
        isFull = false;
        events.emit({ type: 'deliveries.written', count: batch.ids.length });
      }
    } catch (error) {
      const { code = 'unknown' } = error as NodeJS.ErrnoException;
      isFull = code === 'EAGAIN';
      looks = isFull ? looks + 1 : 0;
      // The next reader has not seen the beginning of the line that was cut off.
      if (!isFull) taken = 0;
      if (!isFull || looks % LOOKS_TOLD === 0) events.emit({ type: 'deliveries.failing', reason: code });
      clock.after(isFull ? FULL_MS : RETRY_MS, start);
    } finally {
      isBusy = false;
    }
  }

  async function writeRest(opened: Opened, bytes: Buffer): Promise<void> {
    while (taken < bytes.length) {
      const written = await opened.write(bytes, taken);
      taken += written;
      looks = 0;
    }
  }

  async function finish(): Promise<void> {
    using _alive = keepAlive();
    for (const until = clock.monotonic() + CLOSE_LIMIT_MS; clock.monotonic() < until;) {
      await sleep(clock, FULL_MS, stop.signal);
      start();
      await running;
      if (!isFull) return;
    }
  }

  const subscription = outbox.onStored(start);
  start();
  return {
    async [Symbol.asyncDispose]() {
      subscription[Symbol.dispose]();
      await running;
      if (isFull) await finish();
      stop.abort();
    },
  };
}

/** Destination that was opened for a batch. It is closed after the batch. */
interface Opened extends AsyncDisposable {
  /** @returns the number of bytes written; rejects with EAGAIN if it currently takes none */
  write(bytes: Buffer, from: number): Promise<number>;
}

type Target = () => Promise<Opened>;

function fileTarget(path: string): Target {
  return async () => {
    const handle = await open(path, FLAGS, 0o640);
    return {
      write: async (bytes, from) => (await handle.write(bytes, from)).bytesWritten,
      [Symbol.asyncDispose]: async () => handle.close(),
    };
  };
}

/**
 * Returns the process's standard output by its descriptor. The path of the descriptor does not work for a socket, and
 * may belong to another user. Accessing the stream makes Node set a pipe or socket to non-blocking.
 */
function standardOutput(): Target {
  const { fd } = process.stdout;
  const writeTo = promisify(write);
  const opened: Opened = {
    write: async (bytes, from) => (await writeTo(fd, bytes, from)).bytesWritten,
    [Symbol.asyncDispose]: async () => undefined,
  };
  return async () => opened;
}
