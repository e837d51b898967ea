/** `opsd api`: its command line, its confirmation and its output. All operations: test/operate/operations. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemClock } from '#foundation/platform/clock.ts';
import { EXIT } from '#cli/command.ts';
import { OPERATIONS } from '#service/operations.ts';
import { tempDir } from '../support/temp-dir.ts';
import { testEmulator } from '../support/test-emulator.ts';
import { TEST_TOKEN } from '../support/service.ts';
import { operationsWorld } from '../operate/operations/world.ts';
import { opsd } from './terminal.ts';

test('lists the operations, and the keys of one', async () => {
  const listed = await opsd(['api']);
  expect(listed.code).toBe(EXIT.ok);
  for (const { name, method, keys } of OPERATIONS) {
    expect(listed.stdout).toMatch(new RegExp(`^${name} +${method === 'GET' ? 'read' : 'write'} `, 'm'));
    const help = await opsd(['api', name, '--help']);
    expect(help.code).toBe(EXIT.ok);
    for (const key of Object.keys(keys)) expect(help.stdout).toMatch(new RegExp(`^${key} `, 'm'));
  }
  expect((await opsd(['api', '--help'])).stdout).toContain('Usage: opsd api [OPERATION [KEY=VALUE…]]');
});

test.each([
  [['list-log'], /no operation 'list-log'; did you mean list-logs\?/],
  [['list-logs', 'state'], /needs KEY=VALUE, not 'state'/],
  [['list-logs', 'stat=ERROR'], /no key "stat"; did you mean state\?/],
  [['list-logs', 'count=0'], /count must be an integer from 1 to 100/],
  [['list-logs', 'state=ERROR', 'state=RETRY'], /state is given twice/],
  [['list-logs', 'account=production'], /use --account/],
  [['list-logs', '--body', '-'], /list-logs has no body/],
  [['publish', 'destination=http://x/', 'body=a', '--body', '-'], /two bodies/],
  [['publish', 'body=a'], /destination is required/],
  [['resume-workflow-dlq'], /it would act on everything/],
  [['delete-dlq', 'label=a'], /toDate is required/],
  [['list-logs', '-o', 'csv'], /--output must be one of/],
])('%j is a wrong command line, without a daemon', async (words, message) => {
  const { code, stderr } = await opsd(['api', ...words, '--socket', '/nowhere/opsd.sock']);
  expect([code, stderr]).toEqual([EXIT.usage, expect.stringMatching(message)]);
});

describe('with a daemon', () => {
  test('a write shows what it sends, and asks', async () => {
    const world = await operationsWorld();
    const words = ['publish', 'destination=http://127.0.0.1:9/', 'body=hello', 'retries=0'];
    const refused = await world.api(words, { answers: ['n'] });
    expect([refused.code, refused.stderr]).toEqual([
      EXIT.failed,
      expect.stringContaining('not confirmed; nothing was done'),
    ]);
    expect(refused.stderr).toContain('  body: (5 bytes)\n');
    const silent = await world.api(words);
    expect([silent.code, silent.stderr]).toEqual([EXIT.failed, expect.stringContaining('Use --yes')]);
    expect(world.exchanged.filter(({ method }) => method === 'POST')).toEqual([]);
    const { code, stdout } = await world.api([...words, '-o', 'json'], { answers: ['y'] });
    expect([code, Object.keys(JSON.parse(stdout) as object)]).toEqual([EXIT.ok, expect.arrayContaining(['messageId'])]);
  });

  test('a body is read from a file or from stdin, unchanged', async () => {
    const world = await operationsWorld();
    const body = '{"a": "\u2603",\r\n "b": 1}\n';
    const file = join(world.folder, 'body');
    writeFileSync(file, body);
    const words = ['publish', 'destination=http://127.0.0.1:9/', 'retries=0', '--yes', '--body'];
    expect((await world.api([...words, file])).code).toBe(EXIT.ok);
    expect((await world.api([...words, '-'], { input: body })).code).toBe(EXIT.ok);
    const sent = world.front.requests
      .filter(({ method }) => method === 'POST')
      .map((request) => request.body.toString());
    expect(sent).toEqual([body, body]);
    writeFileSync(file, Buffer.from([0xff, 0xfe]));
    const binary = await world.api([...words, file]);
    expect([binary.code, binary.stderr]).toEqual([EXIT.failed, expect.stringContaining('is not UTF-8 text')]);
    const missing = await world.api([...words, `${file}-missing`]);
    expect(missing.stderr).toContain('cannot be read (ENOENT)');
  });

  test('shows a list, a page and a record as tables, and the same data as YAML', async () => {
    const world = await operationsWorld();
    await world.service.control.seed({
      account: 'acc-1',
      urlGroups: [{ name: 'orders', endpoints: [{ name: 'one', url: 'http://127.0.0.1:9/?key=canary' }] }],
      failedRuns: [{ url: 'http://127.0.0.1:9/run', labels: ['billing\u001b[2J'], status: 503 }],
      indexes: [{ id: 'idx-1', name: 'books' }],
    });
    expect((await world.api(['list-url-groups'])).stdout).toMatch(/^name +createdAt +updatedAt +endpoints\norders /);
    const page = (await world.api(['list-workflow-dlq'])).stdout;
    expect(page).toMatch(/^dlqId .*workflowUrl/);
    expect(page).not.toContain('\u001b');
    expect((await world.api(['get-index', 'id=idx-1'])).stdout).toMatch(/^FIELD +VALUE\n(?:.*\n)*name +books\n/);
    expect((await world.api(['get-index', 'id=idx-1', '-o', 'yaml'])).stdout).toContain('name: books\n');
  });

  test('several accounts need --account', async () => {
    const world = await operationsWorld({ account: `  - { name: other, url: "http://127.0.0.1:9", token: t }` });
    const without = await world.api(['list-url-groups']);
    expect([without.code, without.stderr]).toEqual([
      EXIT.failed,
      expect.stringContaining('account is required. Accounts: production, other'),
    ]);
    expect((await world.api(['list-url-groups', '--account', 'production'])).code).toBe(EXIT.ok);
    expect((await world.api(['list-url-groups', '--account', 'nobody'])).stderr).toContain(
      'there is no account nobody',
    );
    expect((await world.api(['get-account-stats', '--account', 'other'])).stderr).toContain('has no managementApi');
  });

  test('an unknown operation and an invalid body are errors of the API', async () => {
    const world = await operationsWorld();
    const unknown = await world.post('admin', 'list-log', {});
    expect([unknown.status, await unknown.text()]).toEqual([404, expect.stringContaining('Did you mean list-logs?')]);
    for (const body of [[], 'x', null, 5]) expect((await world.post('admin', 'list-logs', body)).status).toBe(400);
    expect((await world.post('admin', 'list-logs', { account: 5 })).status).toBe(400);
    expect((await world.post('admin', 'list-logs', { key: 5 })).status).toBe(400);
  });
});

test('without a daemon a read and a write go to the service, and the write is in the audit log', async () => {
  const service = await testEmulator();
  const config = join(tempDir(), 'opsd.yaml');
  writeFileSync(
    config,
    `storage: { sqlite: { path: opsd.db } }\naccounts: [{ name: production, url: "${service.url}", token: ${TEST_TOKEN} }]\n`,
  );
  const run = (...words: string[]) => opsd(['api', ...words, '--config', config, '-o', 'json'], { clock: systemClock });
  const endpoints = 'endpoints=[{"url":"http://127.0.0.1:9/","name":"one"}]';
  const write = await run('add-endpoints', 'urlGroupName=orders', endpoints, '--yes');
  expect([write.code, write.stderr]).toEqual([EXIT.ok, expect.stringContaining('It holds the store')]);
  const read = await run('list-url-groups');
  expect([read.code, read.stderr]).toEqual([EXIT.ok, expect.stringContaining('It stores nothing')]);
  expect(JSON.parse(read.stdout)).toMatchObject([{ name: 'orders' }]);
  const audit = await opsd(['audit', '--config', config, '-o', 'jsonl'], { clock: systemClock });
  expect(audit.stdout).toContain('"operation":"add-endpoints"');
});
