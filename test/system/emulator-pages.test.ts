/**
 * The pages of the emulator in Chromium: accessible, as wide as a phone, harmless with hostile texts, and usable without
 * a script. `PICTURES=FOLDER` writes pictures for a review.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startEmulator } from '#emulator/testing/start.ts';
import { openTab } from '../support/browser-tab.ts';
import { show, tooWide, VIEWS, violations } from '../support/page-checks.ts';
import { installed } from '../support/program.ts';

const chromium = installed('chromium');
const pictures = process.env['PICTURES'];
if (pictures !== undefined) mkdirSync(pictures, { recursive: true });

const HOSTILE = `<script>document.title = 'taken'</script><img src=x onerror="document.title = 'taken'">${'w'.repeat(300)}`;

const PATHS = ['/', ...['dead-letters', 'flow-control', 'clock', 'publish'].map((name) => `/-/pages/${name}`)];

async function emulatorFor() {
  const emulator = await startEmulator({ time: 'virtual' });
  onTestFinished(() => emulator.stop());
  return emulator;
}

test.skipIf(chromium === undefined).each(['empty', 'full', 'hostile'])('each page with %s data', async (name) => {
  const emulator = await emulatorFor();
  const text = name === 'hostile' ? HOSTILE : 'orders';
  const call = (path: string, more: Record<string, string>): Promise<Response> =>
    fetch(emulator.url + path, { method: 'POST', body: text, headers: { Authorization: 'Bearer token', ...more } });
  if (name !== 'empty') {
    await emulator.destinations.script('down.example', [{ status: 500, body: text }]);
    await emulator.destinations.script('shop.example', [503, 200]);
    const flow = { 'Svc-Flow-Control-Key': text, 'Svc-Flow-Control-Value': 'parallelism=1, rate=5, period=1m' };
    await call('/v2/publish/https://shop.example/orders', { 'Svc-Label': text, ...flow });
    await call(`/v2/publish/https://down.example/${encodeURIComponent(text)}`, { 'Svc-Retries': '1', ...flow });
    await call('/v2/trigger/https://down.example/workflow', { 'Svc-Retries': '0', 'Svc-Workflow-RunId': text });
    await emulator.clock.advance(60_000);
    await call('/v2/publish/https://shop.example/later', { 'Svc-Delay': '1h' });
  }
  const paths = [...PATHS, ...emulator.messages().map(({ id }) => `/-/pages/messages/${id}`)];
  const tab = await openTab(chromium!, { isDrawn: pictures !== undefined });
  for (const path of paths) {
    for (const view of VIEWS) {
      const about = `${path} ${JSON.stringify(view)}`;
      await show(tab, emulator.url + path, view);
      expect(await tab.eval('document.title'), about).toContain('· emulator');
      expect.soft(await tooWide(tab), `${about}: wider than the screen`).toEqual([]);
      const file = `${path.replaceAll(/[^\w]+/g, '-')}-${name}-${view.width}-${view.colors}.png`;
      if (pictures !== undefined) await tab.picture(join(pictures, file));
      if (view.script !== false) expect.soft(await violations(tab), about).toEqual([]);
    }
  }
  expect(tab.errors).toEqual([]);
});

test.skipIf(chromium === undefined)('a reader publishes, moves the clock, and sees the delivery', async () => {
  const emulator = await emulatorFor();
  await emulator.destinations.script('shop.example', [503, 200]);
  const tab = await openTab(chromium!);
  await tab.view({ width: 390, script: false });
  await tab.open(`${emulator.url}/-/pages/publish`);
  await tab.type('input[name=destination]', 'https://shop.example/orders');
  await tab.type('textarea[name=body]', 'one');
  await tab.press('main form button');
  const [message] = emulator.messages();
  expect(await tab.eval('location.pathname')).toBe(`/-/pages/messages/${message!.id}`);
  await emulator.idle();
  await tab.open(`${emulator.url}/-/pages/clock`);
  await tab.press('button[value="1h"]');
  expect(await tab.eval('location.pathname')).toBe('/-/pages/clock');
  await tab.open(`${emulator.url}/`);
  expect(await tab.eval(`document.querySelector('tbody .state').textContent`)).toBe('delivered');
  expect(tab.errors).toEqual([]);
});
