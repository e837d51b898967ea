/** The first page in a real browser, from a running demo. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { installed, opsd } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

test('a browser shows what is read, what policies do and what was done, without a script', async ({ skip }) => {
  const chromium = installed('chromium');
  if (chromium === undefined) skip('chromium is not installed');
  const demo = opsd(['demo', '--listen', '127.0.0.1:0', '--seed', '11']);
  const url = String((await demo.logged('the daemon runs'))['url']);
  await demo.logged('action');
  const profile = tempDir();
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'];
  const more = ['--disable-component-update', '--disable-sync', '--disable-quic', `--user-data-dir=${profile}`];
  const dom = await until({ what: 'the page tells of an act', timeoutMs: 40_000 }, async () => {
    const { stdout } = await promisify(execFile)(chromium!, [...flags, ...more, '--dump-dom', `${url}/`]);
    return stdout.includes('workflow-dlq.resume') && stdout;
  });
  for (const source of [
    'logs',
    'accountStats',
    'flowControl',
    'workflowDlq',
    'urlGroups',
    'searchIndexes',
    'vectorStats',
  ]) {
    expect(dom).toContain(source);
  }
  // An hour is not over yet: what it takes stands there.
  expect(dom).toContain('Log and statistics');
  expect(dom).toContain('Nothing can be compared yet.');
  expect(dom).toContain('resume-billing');
  expect(dom).toContain('enforce');
  expect(dom).toContain('resume-onboarding');
  expect(dom).toContain('audit');
  expect(dom).not.toContain('<script');
}, 120_000);
