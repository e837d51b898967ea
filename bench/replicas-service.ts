/**
 * The service of the replicas' benchmark, in a process of its own. Argument: number of accounts. Messages get their log
 * entries without requests or deliveries, so that the service mostly pays for what the daemons request.
 *
 * It sends its URL to its parent at the start, and responds to each request of the parent.
 */
import { runEmulator } from '#emulator/emulator.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { addMessage, ENTRIES_OF_DELIVERY } from '../emulator/bench/filled-messages.ts';
import { accountsOf, type ServiceRequest, type ServiceResponse, type ServiceStart } from './replicas-settings.ts';

const TICK_MS = 20;
const BODY_BYTES = 200;

const accounts = accountsOf(Number(process.argv[2]));
const random = seededRandom(1);
const emulator = await runEmulator({
  clock: systemClock,
  random,
  listen: { host: '127.0.0.1', port: 0 },
  accounts: accounts.map(({ name, token }) => ({ id: name, token })),
  management: { username: 'user', password: 'password' },
  enforceLimits: false,
});
const states = accounts.map(({ name }) => emulator.state(name));
let perSecond = 0;
let since = performance.now();
let owed = 0;
let made = 0;

setInterval(() => {
  const now = performance.now();
  owed += ((now - since) / 1_000) * (perSecond / ENTRIES_OF_DELIVERY);
  since = now;
  for (; owed >= 1; owed -= 1) add(systemClock.now());
}, TICK_MS);

function add(at: number): void {
  const index = Math.floor(made / states.length);
  addMessage(states[made % states.length]!, { index, now: at, kind: 'delivered', bodyBytes: BODY_BYTES, random });
  made += 1;
}

process.on('message', ({ rate = perSecond, past }: ServiceRequest) => {
  perSecond = rate;
  const messages = (past?.entries ?? 0) / ENTRIES_OF_DELIVERY;
  const began = systemClock.now() - (past?.ms ?? 0);
  for (let n = 0; n < messages; n += 1) add(began + Math.floor((n / messages) * past!.ms));
  process.send!({ logged: states.map(({ log }) => log.nextSequence) } satisfies ServiceResponse);
});
process.on('disconnect', () => process.exit());
process.send!({ url: emulator.url } satisfies ServiceStart);
