/** Progress of real HTTP within this process, for tests that move a manual clock. */
import { subscribe } from 'node:diagnostics_channel';

/** Turns of the event loop without traffic. After them, everything waits for the clock. */
const QUIET_TURNS = 12;

const CHANNELS = [
  'undici:request:create',
  'undici:request:headers',
  'undici:request:trailers',
  'undici:request:error',
  'undici:client:connected',
  'undici:client:connectError',
  'http.client.request.start',
  'http.client.response.finish',
  'http.server.request.start',
  'http.server.response.finish',
  'net.client.socket',
  'net.server.socket',
];

let traffic = 0;
let isCounting = false;

/** Resolves when no request of this process proceeds without the clock. */
export async function quiet(): Promise<void> {
  if (!isCounting) for (const channel of CHANNELS) subscribe(channel, () => void (traffic += 1));
  isCounting = true;
  let seen = traffic;
  for (let turns = 0; turns < QUIET_TURNS; turns += 1) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    if (traffic !== seen) turns = 0;
    seen = traffic;
  }
}
