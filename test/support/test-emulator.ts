/** The embedded service with the account `acc-1`, and a client of it. Both end with the test. */
import { onTestFinished } from 'vitest';
import type { ServiceClient } from '#service/api.ts';
import { createClient } from '#service/create-client.ts';
import { clientSettings, wireSettings } from '#service/settings.ts';
import { runEmulator, type RunningEmulator } from '#emulator/emulator.ts';
import type { RunOptions } from '#emulator/emulator-options.ts';
import { systemClock, type Clock } from '#foundation/platform/clock.ts';
import { EventBus } from '#foundation/events/events.ts';
import { seededRandom, type Random } from '#foundation/platform/random.ts';
import { Secret } from '#foundation/platform/secret.ts';
import { TEST_TOKEN } from './service.ts';

const MANAGEMENT = { username: 'user', password: 'password' };

/** Starts the service on a free loopback port. */
export async function testEmulator(options: Partial<RunOptions> = {}): Promise<RunningEmulator> {
  const emulator = await runEmulator({
    clock: systemClock,
    random: seededRandom(7),
    listen: { host: '127.0.0.1', port: 0 },
    accounts: [{ id: 'acc-1', token: TEST_TOKEN }],
    management: MANAGEMENT,
    enforceLimits: false,
    ...options,
  });
  onTestFinished(() => emulator.stop());
  return emulator;
}

interface ClientOptions {
  /** Default: `production`. */
  readonly account?: string;
  readonly token?: string;
  readonly management?: { readonly username: string; readonly password: string };
  /** `client` of the configuration. */
  readonly limits?: object;
  readonly clock?: Clock;
  readonly events?: EventBus;
  readonly random?: Random;
}

/** Creates a client of both APIs at this address. */
export function testClient(url: string, options: ClientOptions = {}): ServiceClient {
  const { account = 'production', token = TEST_TOKEN, management = MANAGEMENT, limits, ...deps } = options;
  const client = createClient(
    {
      account,
      messageApi: { url, token: Secret.of(token) },
      managementApi: { url, username: management.username, password: Secret.of(management.password) },
      wire: wireSettings.parse({}),
      limits: clientSettings.parse({ requestsPerSecond: 1_000, ...limits }),
    },
    { clock: systemClock, events: new EventBus(), random: seededRandom(1), ...deps },
  );
  onTestFinished(async () => client[Symbol.asyncDispose]());
  return client;
}
