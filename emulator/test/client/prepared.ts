/** An emulator with one record of each kind, always the same, for the calls of a client. */
import { startEmulator, type Emulator, type EmulatorOptions } from '#emulator/testing/start.ts';

export async function preparedEmulator(
  options: EmulatorOptions & { readonly headerPrefix: string },
): Promise<Emulator> {
  const startAt = new Date('2026-11-27T00:00:00Z');
  const emulator = await startEmulator({ token: 'token', time: 'virtual', startAt, seed: 1, ...options });
  const send = async (path: string, settings: Readonly<Record<string, string>>, body: string): Promise<void> => {
    const own = Object.entries(settings).map(([name, value]) => [`${options.headerPrefix}-${name}`, value]);
    const headers = { Authorization: 'Bearer token', ...Object.fromEntries(own) };
    const { ok, status } = await fetch(emulator.url + path, { method: 'POST', headers, body });
    if (!ok) throw new Error(`${path}: ${status}`);
  };
  await emulator.destinations.script('shop.example', [200]);
  await emulator.destinations.script('down.example', [500]);
  const once = { Retries: '0', Label: 'eu' };
  await send('/v2/topics/orders/endpoints', {}, '{"endpoints":[{"url":"https://shop.example/orders","name":"shop"}]}');
  const flow = { 'Flow-Control-Key': 'billing', 'Flow-Control-Value': 'parallelism=2, rate=5, period=1m' };
  await send('/v2/publish/https://down.example/orders', { ...once, ...flow }, '{"order":1}');
  await send('/v2/trigger/https://down.example/workflow', once, '{"user":1}');
  await emulator.clock.advance(1_000);
  return emulator;
}
