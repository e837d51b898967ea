/**
 * Pictures of README and docs, from the demo with a seed at fixed virtual times: `npm run pictures` writes them. Pixels
 * differ by machine, so the test compares the text of each page with the kept one beside its picture.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openTab } from '../support/browser-tab.ts';
import { installed } from '../support/program.ts';
import { passTime, startVirtualDemo, VirtualClock } from '../support/virtual-demo.ts';

const DOCS = join(import.meta.dirname, '../../docs');
const TEXTS = join(import.meta.dirname, '../fixtures/pictures');
const isWriting = process.env['WRITE_PICTURES'] === '1';
const MINUTE = 60_000;

/** Ports, folders and ids differ from run to run: requests of one moment have no order. */
const VARYING = [
  [/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT'],
  [/opsd-demo-\w+/g, 'opsd-demo-FOLDER'],
  [/\b(?:msg|wfr)_\w+/g, 'ID'],
  [/\b\d{13}-\w+/g, 'ID'],
  [/\b(?=[0-9a-f]*\d)[0-9a-f]{6,64}\b/g, 'ID'],
] as const;

/** Numbers may differ, for the same reason: a count of failed messages by chance, the larger it is. */
const mayDiffer = (count: number): number => Math.max(2, count / 20, count > 10 ? 2 * Math.sqrt(count) : 0);
const NUMBER = /\d[\d,]*(?:\.\d+)?/g;

function numbersOf(text: string): number[] {
  return (text.match(NUMBER) ?? []).map((number) => Number(number.replaceAll(',', '')));
}

function withoutVarying(text: string): string {
  return VARYING.reduce((shown, [what, name]) => shown.replaceAll(what, name), text);
}

test('the pictures of the documentation show what the demo shows', async ({ skip }) => {
  const chromium = installed('chromium');
  if (chromium === undefined) skip('chromium is not installed');
  // The folder of most machines: the pages show where the socket is.
  vi.stubEnv('TMPDIR', '/tmp');
  const clock = new VirtualClock(Date.UTC(2026, 10, 20, 9));
  const stop = new AbortController();
  const { output, ended } = await startVirtualDemo(clock, stop.signal);
  onTestFinished(async () => {
    stop.abort();
    // The end waits for time, too.
    const end = ended.then(() => true);
    while (!(await Promise.race([end, passTime(clock, 1_000)]))) stop.abort();
  });
  const address = /^Open (\S+)$/m.exec(output)![1]!;
  const { origin } = new URL(address);
  const tab = await openTab(chromium!, { isDrawn: true });
  await tab.view({ width: 1_300 });
  await tab.send('Emulation.setTimezoneOverride', { timezoneId: 'UTC' });
  await tab.open(address);
  await tab.open(origin);

  async function picture(name: string, path: string, height: number): Promise<void> {
    await tab.open(`${origin}${path}`);
    const text = withoutVarying(await tab.eval<string>('document.body.innerText'));
    const file = join(TEXTS, `${name}.txt`);
    if (isWriting) {
      mkdirSync(TEXTS, { recursive: true });
      writeFileSync(file, `${text}\n`);
      await tab.picture(join(DOCS, `${name}.png`), height);
    }
    const kept = existsSync(file) ? readFileSync(file, 'utf8').slice(0, -1) : '';
    const about = `${name}: npm run pictures`;
    expect.soft(text.replaceAll(NUMBER, '#'), about).toBe(kept.replaceAll(NUMBER, '#'));
    const numbers = numbersOf(text);
    const others = numbersOf(kept).filter((one, at) => Math.abs(one - numbers[at]!) > mayDiffer(one));
    expect.soft(others, about).toEqual([]);
  }

  await passTime(clock, 10 * MINUTE);
  await tab.open(`${origin}/`);
  await tab.press('.tour button');
  await passTime(clock, MINUTE);
  await picture('outage-page', '/', 900);
  const ask = async <T>(path: string): Promise<T> => (await (await fetch(`${origin}/api/v1/${path}`)).json()) as T;
  const { incidents } = await ask<{ incidents: readonly { id: string; reason: string }[] }>('incidents');
  const broken = incidents.find(({ reason }) => reason.includes('the ledger is not available'))!;
  await picture('pages-incident', `/incidents/${broken.id}`, 900);
  const { plans } = await ask<{ plans: readonly { id: string; policy: string }[] }>('plans?state=pending');
  const waiting = plans.find(({ policy }) => policy === 'resume-onboarding')!;
  await picture('pages-plan', `/plans/${waiting.id}`, 900);
  await tab.press('.tour button');
  await passTime(clock, MINUTE);
  await picture('pages-now', '/', 900);
});
