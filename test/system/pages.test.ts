/**
 * Every page in Chromium: accessible, as wide as a phone, and harmless with hostile texts; with the script and without
 * it, light and dark. `PICTURES=FOLDER` writes pictures for a review.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { busy, emptyWorld, hostileWorld, OPERATOR, PAGES, withUsers } from '../operate/pages/worlds.ts';
import {
  engine,
  ledger,
  NOW,
  plan,
  RESUME_BILLING,
  serving,
  storedPlan,
  world,
  type World,
} from '../operate/http/world.ts';
import { openTab, type Tab, type TabView } from '../support/browser-tab.ts';
import { show, tooWide, VIEWS, violations } from '../support/page-checks.ts';
import { installed } from '../support/program.ts';

const WORLDS = { empty: emptyWorld, full: busy, hostile: hostileWorld };
const chromium = installed('chromium');
const pictures = process.env['PICTURES'];
const isDrawn = pictures !== undefined;
/** A further view, for pictures. */
const DARK: TabView = { width: 1_300, colors: 'dark' };
if (pictures !== undefined) mkdirSync(pictures, { recursive: true });

async function signIn(tab: Tab, address: string): Promise<void> {
  await tab.view({ width: 1_300 });
  await tab.open(`${address}/sign-in?next=/policies`);
  await tab.type('input[name=user]', OPERATOR.user);
  await tab.type('input[name=secret]', OPERATOR.password);
  await tab.press('main form button');
  expect(await tab.eval('location.pathname')).toBe('/policies');
}

test.skipIf(chromium === undefined).each(Object.entries(WORLDS))(
  'each page of a daemon with %s data is accessible, fits, and runs nothing of the service',
  async (name, make) => {
    const { address } = await serving(make());
    const tab = await openTab(chromium!, { isDrawn });
    await tab.view({ width: 390 });
    await tab.open(`${address}/sign-in`);
    expect.soft(await violations(tab), 'sign-in').toEqual([]);
    expect.soft(await tooWide(tab), 'sign-in').toEqual([]);
    if (pictures !== undefined) await tab.picture(join(pictures, `sign-in-${name}.png`));
    await signIn(tab, address);
    tab.errors.length = 0;
    for (const path of PAGES) {
      for (const view of [...VIEWS, ...(pictures === undefined ? [] : [DARK])]) {
        const about = `${path} ${JSON.stringify(view)}`;
        await show(tab, `${address}${path}`, view);
        expect(await tab.eval('document.title'), about).toContain('opsd');
        expect.soft(await tooWide(tab), `${about}: wider than the screen`).toEqual([]);
        if (pictures !== undefined) await tab.picture(join(pictures, fileOf(name, path, view)));
        // The rules need timers, which run only with the script. The markup is the same without it, and in the dark the
        // colors do not depend on the data.
        if (view.script !== false && (name === 'full' || view.colors === 'light'))
          expect.soft(await violations(tab), about).toEqual([]);
      }
    }
    // A page that does not exist is the only error.
    const errors = tab.errors.filter((text) => !/status of 40[14]/.test(text));
    expect(errors).toEqual([]);
  },
);

const STATES: Readonly<Record<string, () => World>> = {
  empty: emptyWorld,
  healthy: () => world({ ...withUsers(), policies: async () => [RESUME_BILLING] }),
  outage: busy,
  repair: () => ({ ...busy(), outages: () => [], engine: engine(), ledger: ledger() }),
};

test.skipIf(chromium === undefined).each(Object.entries(STATES))(
  'the first page answers in one screen: %s',
  async (name, make) => {
    const { address } = await serving(make());
    const tab = await openTab(chromium!, { isDrawn });
    await signIn(tab, address);
    await tab.view({ width: 1_300, height: 800 });
    await tab.open(`${address}/`);
    if (pictures !== undefined) await tab.picture(join(pictures, `now-${name}.png`), 800);
    expect(await tab.eval(`document.querySelector('.figures') !== null`)).toBe(true);
    expect(
      await tab.eval(`document.querySelector('main').lastElementChild.getBoundingClientRect().bottom`),
    ).toBeLessThanOrEqual(800);
  },
);

/** Name of a picture, such as `now-full-390-dark.png`. */
function fileOf(world: string, path: string, { width, colors, script = true }: TabView): string {
  const page = path === '/' ? 'now' : path.slice(1).replaceAll(/[^\w-]+/g, '-');
  return `${page}-${world}-${width}-${colors}${script ? '' : '-plain'}.png`;
}

test('an operator selects, plans and approves without the script', async ({ skip }) => {
  if (chromium === undefined) skip('chromium is not installed');
  const done: string[] = [];
  const base = busy();
  const { address } = await serving({
    ...base,
    engine: {
      ...base.engine,
      planManually: ({ selection: { ids = [] }, by }) => {
        done.push(`${by} plans ${ids.join(' ')}`);
        return Promise.resolve({ ok: true, plan: plan() });
      },
      approve: async (id, { by, reason }) => {
        done.push(`${by} approves ${id}: ${reason}`);
        return { ok: true, plan: storedPlan() };
      },
    },
  });
  const tab = await openTab(chromium!);
  await signIn(tab, address);
  await tab.view({ width: 390, script: false });
  await tab.open(`${address}/dead-letters?queue=workflow&account=production`);
  await tab.eval(`for (const id of ['dlq-58', 'dlq-57']) document.querySelector('input[value=' + id + ']').click()`);
  await tab.type('input[name=reason]', 'the database is back');
  await tab.press('button[value=resume]');
  expect(await tab.eval('location.pathname')).toBe('/plans/9f3c2a');
  await tab.type('input[name=reason]', 'looks right');
  await tab.press('button[value=approve]');
  expect(done).toEqual(['olga plans dlq-58 dlq-57', 'olga approves 9f3c2a: looks right']);
});

test('the script shows local times with UTC on hover, copies commands, and counts a selection', async ({ skip }) => {
  if (chromium === undefined) skip('chromium is not installed');
  // Only conditions without an action have a command for someone who may act.
  const reload = {
    key: 'reload',
    severity: 'warning',
    summary: 'reload failed',
    detail: 'line 3',
    since: NOW,
  } as const;
  const deps = busy();
  const { address } = await serving({ ...deps, engine: { ...deps.engine, conditions: () => [reload] } });
  const tab = await openTab(chromium!);
  await signIn(tab, address);
  await tab.send('Emulation.setTimezoneOverride', { timezoneId: 'Asia/Kolkata' });
  await tab.open(`${address}/dead-letters?queue=workflow`);
  expect(
    await tab.eval(`[document.querySelector('.head time').textContent, document.querySelector('.head time').title]`),
  ).toEqual(['2026-11-18 16:00:00', '2026-11-18 10:30:00 UTC']);
  expect(await tab.eval(`document.querySelector('[data-zone]').textContent`)).toMatch(/^Asia\//);
  await tab.open(`${address}/`);
  expect(await tab.eval(`document.querySelector('.copy').ariaLabel`)).toMatch(/^Copy opsd /);
  await tab.open(`${address}/sources`);
  expect(await tab.eval(`document.querySelector('[data-utc]').textContent`)).toBe('2026-11-18 09:00–10:00');
  await tab.open(`${address}/dead-letters?queue=workflow`);
  await tab.eval(`document.querySelector('[data-all]').click()`);
  expect(await tab.eval(`document.querySelector('[data-count]').textContent`)).toBe('50 selected');
});
