/**
 * Time of a real program that moves only on command of its test, as fast as the program's work allows. A move waits for
 * the program's requests in progress, so that none of them takes any time.
 */
import { subscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { ClientRequest } from 'node:http';
import { SteerableClock } from '#emulator/control/steerable-clock.ts';
import { systemClock, type Clock } from '#foundation/platform/clock.ts';
import type { Program } from './program.ts';

/** Turns of the event loop without a request. After them, all further work waits for the clock. */
const QUIET_TURNS = 10;

/** Returns the clock of this process, which starts at `since` and moves when `moveTime` of the test tells it to. */
export function steppedClock(since: number): Clock {
  const clock = new SteerableClock({ base: systemClock, mode: 'virtual', startAt: since });
  const settled = watchRequests();
  process.on('message', ({ move }: { readonly move: number }) => {
    void clock.advance(move, settled).then(() => process.send!({ nextIn: clock.nextIn ?? Infinity }));
  });
  process.channel?.unref();
  return clock;
}

/**
 * Moves the time of a program with a stepped clock by `ms`, from one of its timers to the next.
 *
 * @returns milliseconds until its next timer; Infinity if it has ended
 */
export async function moveTime({ child, ended }: Program, ms: number): Promise<number> {
  if (!child.connected) return Infinity;
  const moved = once(child, 'message') as Promise<[{ readonly nextIn: number | null }]>;
  child.send({ move: ms });
  const answer = await Promise.race([moved, ended]);
  return 'code' in answer ? Infinity : (answer[0].nextIn ?? Infinity);
}

/** Returns a function that resolves when the requests of this process have ended, and no work is left. */
function watchRequests(): () => Promise<void> {
  let begun = 0;
  const inProgress = new Set<ClientRequest>();
  subscribe('http.client.request.start', (message) => {
    const { request } = message as { readonly request: ClientRequest };
    begun += 1;
    inProgress.add(request);
    request.once('close', () => inProgress.delete(request));
  });
  const isReading = (): boolean => process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'));
  return async () => {
    let seen = begun;
    for (let quiet = 0; quiet < QUIET_TURNS || isReading(); quiet += 1) {
      await new Promise((resolve) => (inProgress.size > 0 ? setTimeout(resolve, 1) : setImmediate(resolve)));
      if (begun !== seen || inProgress.size > 0) quiet = 0;
      seen = begun;
    }
  };
}
