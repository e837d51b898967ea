/**
 * Writes the lines of the outbox to a file or to standard output, at least once each. A file is opened anew for each
 * batch, so that rotation by renaming works. Neither is waited for: a pipe that nobody empties takes no thread and holds
 * up nothing; the lines wait in the store meanwhile. Nothing is kept in this process: what was written is with the
 * system, whenever the process ends.
 */
import { constants, write } from 'node:fs';
import { open } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { DeliveryOutbox } from '../aggregation/delivery-outbox.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { EventBus } from '#foundation/events/events.ts';
import { keepAlive } from '#foundation/platform/keep-alive.ts';
import { sleep } from '#foundation/platform/sleep.ts';
import type { DeliveryEventsSettings } from './settings.ts';

const RETRY_MS = 1_000;
/** A full pipe is looked at again so soon, and told of when it took nothing for so many looks. */
const FULL_MS = 50;
const LOOKS_TOLD = 20;
/** At the end a reader that is slow gets so long, so that its last line is not cut off. */
const CLOSE_LIMIT_MS = 1_000;
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;

export interface DeliveryLogDeps {
  readonly outbox: DeliveryOutbox;
  readonly settings: DeliveryEventsSettings;
  readonly clock: Clock;
  readonly events: EventBus;
}

export function createDeliveryLog({ outbox, settings, clock, events }: DeliveryLogDeps): AsyncDisposable {
  const target = settings.file === undefined ? standardOutput() : fileTarget(settings.file);
  const stop = new AbortController();
  let running: Promise<void> | undefined;
  /** Ends in the turn in which the outbox was seen to be empty: lines stored after that begin anew. */
  let isBusy = false;
  /** Bytes of the oldest lines that a full pipe took already; lines that come meanwhile stand behind these. */
  let taken = 0;
  let looks = 0;
  let isFull = false;

  function start(): void {
    if (stop.signal.aborted || isBusy) return;
    isBusy = true;
    running = drain();
  }

  async function drain(): Promise<void> {
    try {
      for (let batch = outbox.next(); batch !== undefined && !stop.signal.aborted; batch = outbox.next()) {
        const bytes = Buffer.from(batch.text);
        await using opened = await target.open();
        await writeRest(opened, bytes);
        outbox.settle(batch.id);
        taken = 0;
        isFull = false;
        events.emit({ type: 'deliveries.written', count: batch.lines });
      }
    } catch (error) {
      const { code = 'unknown' } = error as NodeJS.ErrnoException;
      isFull = code === 'EAGAIN';
      looks = isFull ? looks + 1 : 0;
      // Whoever reads next has not seen the beginning of what was cut off.
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

/** Something to write a batch to; ended with it. */
interface Opened extends AsyncDisposable {
  /** @returns how many bytes it took; rejects with EAGAIN when it takes none at present */
  write(bytes: Buffer, from: number): Promise<number>;
}

interface Target {
  open(): Promise<Opened>;
}

function fileTarget(path: string): Target {
  return {
    async open() {
      const handle = await open(path, FLAGS, 0o640);
      return {
        write: async (bytes, from) => (await handle.write(bytes, from)).bytesWritten,
        [Symbol.asyncDispose]: async () => handle.close(),
      };
    },
  };
}

/**
 * The descriptor that the process was given: its path leads nowhere when it is a socket, and may be another user's.
 * Asking for the stream lets Node set a pipe or socket so that it refuses instead of waiting.
 */
function standardOutput(): Target {
  const { fd } = process.stdout;
  const writeTo = promisify(write);
  const opened: Opened = {
    write: async (bytes, from) => (await writeTo(fd, bytes, from)).bytesWritten,
    [Symbol.asyncDispose]: async () => undefined,
  };
  return { open: async () => opened };
}
