/** The pages in a real browser, from a running demo. */
import { expect, test } from 'vitest';
import { openTab } from '../support/browser-tab.ts';
import { clockedOpsd, installed } from '../support/program.ts';
import { until } from '../support/until.ts';

test('a browser shows readings, policies and actions', async ({ skip }) => {
  const chromium = installed('chromium');
  if (chromium === undefined) skip('chromium is not installed');
  const time = { speed: 4, since: Date.now() };
  const demo = clockedOpsd(time, ['demo', '--listen', '127.0.0.1:0', '--seed', '11']);
  const url = String((await demo.logged('daemon running'))['url']);
  await until({ what: 'a policy has acted' }, () => demo.log().some(({ msg }) => msg === 'action'));
  const tab = await openTab(chromium!);
  const now = await until({ what: 'the page tells of an act' }, async () => {
    const page = await tab.html(`${url}/`);
    return page.includes('workflow-dlq.resume') && page;
  });
  expect(now).toContain('resume-billing');
  const sources = await tab.html(`${url}/sources`);
  for (const source of [
    'logs',
    'accountStats',
    'flowControl',
    'workflowDlq',
    'urlGroups',
    'searchIndexes',
    'vectorStats',
  ]) {
    expect(sources).toContain(source);
  }
  // The hour is not complete yet, so the page shows the requirement.
  expect(sources).toContain('Log and statistics');
  expect(sources).toContain('No comparison yet.');
  const policies = await tab.html(`${url}/policies`);
  for (const text of ['resume-billing', 'enforce', 'resume-onboarding', 'audit']) expect(policies).toContain(text);
});
