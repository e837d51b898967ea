import { onTestFinished } from 'vitest';
import { startEmulator, type Emulator } from '#emulator/emulator.ts';
import type { EmulatorOptions } from '#emulator/emulator-options.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { TEST_TOKEN } from './service.ts';

/** Starts an embedded service with the account `acc-1` on a free loopback port. It stops when the test ends. */
export async function testEmulator(options: Partial<EmulatorOptions> = {}): Promise<Emulator> {
  const emulator = await startEmulator({
    clock: systemClock,
    random: seededRandom(7),
    listen: { host: '127.0.0.1', port: 0 },
    accounts: [{ id: 'acc-1', token: TEST_TOKEN }],
    management: { username: 'user', password: 'password' },
    enforceLimits: false,
    ...options,
  });
  onTestFinished(() => emulator.stop());
  return emulator;
}
