/** A new run with the body of a failed one: what is sent, what refuses it, and what is known of it afterwards. */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { EXIT } from '#cli/command.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { opsd, type TerminalOptions } from '../../cli/terminal.ts';
import { LOCAL_USER } from '../../support/local-user.ts';
import { httpSink } from '../../support/http-sink.ts';
import { TEST_TOKEN } from '../../support/service.ts';
import { until } from '../../support/until.ts';
import { operationsWorld, type WorldOptions } from './world.ts';

const CANARY = 'canary-body-91c';
const AUTHORIZED = { authorization: `Bearer ${TEST_TOKEN}` };

interface FailedRunOptions extends WorldOptions {
  readonly body?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A daemon with one failed run of a workflow whose next runs succeed. */
async function failedRun({ body = '{"amount":1}', headers = {}, ...options }: FailedRunOptions = {}) {
  const workflow = await httpSink((_request, response) => void response.writeHead(500).end('boom'));
  const url = `${workflow.url}/invoice`;
  let id = '';
  const world = await operationsWorld({
    ...options,
    async before(_folder, service) {
      const first = { ...AUTHORIZED, 'Svc-Retries': '0', 'content-type': 'application/json', ...headers };
      await fetch(`${service.url}/v2/trigger/${url}`, { method: 'POST', headers: first, body });
      id = await until({ what: 'the run has failed' }, async () => {
        const answer = await fetch(`${service.url}/v2/workflows/dlq`, { headers: AUTHORIZED });
        const { messages } = (await answer.json()) as { messages: readonly { dlqId: string }[] };
        return messages[0]?.dlqId;
      });
    },
  });
  workflow.requests.length = 0;
  workflow.answerWith((_request, response) => void response.end('ok'));
  const run = (words: readonly string[], terminal?: TerminalOptions) =>
    opsd([...words, '--socket', world.daemon.socketPath], { clock: systemClock, ...terminal });
  await until({ what: 'the daemon has read the run' }, async () => (await run(['dlq', 'show', id])).code === EXIT.ok);
  const retrigger = (words: readonly string[] = []) =>
    run(['dlq', 'retrigger', id, '--reason', 'the amount was wrong', '--confirm', id, ...words]);
  return {
    ...world,
    workflow,
    url,
    id,
    run,
    retrigger,
    called: () => until({ what: 'the workflow is called' }, () => workflow.requests[0]),
    show: async () => (await run(['dlq', 'show', id])).stdout,
    sent: () => world.exchanged.filter((one) => one.url.startsWith('/v2/trigger/')).length,
    file(content: string | Buffer) {
      writeFileSync(join(world.folder, 'body'), content);
      return join(world.folder, 'body');
    },
  };
}

const sha256 = (body: string | Buffer): string => createHash('sha256').update(body).digest('hex');

test('the new run has the body, headers, labels and retries of the failed one, and an id of its own', async () => {
  const headers = {
    'Svc-Forward-Tenant': 'acme',
    'Svc-Label': 'billing,eu',
  };
  const world = await failedRun({ headers });
  const { code, stdout, stderr } = await world.retrigger();
  expect([code, stderr]).toEqual([
    EXIT.ok,
    expect.stringContaining('All steps run again, also those that had finished'),
  ]);
  const newRun = /Started run (opsd-\S+)\./.exec(stdout)![1]!;
  expect(await world.called()).toMatchObject({
    headers: { tenant: 'acme', 'content-type': 'application/json', 'svc-workflow-runid': newRun },
    body: Buffer.from('{"amount":1}'),
  });
  expect(await world.show()).toMatch(
    new RegExp(`New run: running[^]*${newRun}[^]*none is open. It has finished if no other`),
  );
  const { stdout: run } = await world.run(['messages', 'show', newRun, '-o', 'json']);
  expect(JSON.parse(run)).toMatchObject({ run: { messages: [{ labels: ['billing', 'eu'], maxRetries: 0 }] } });
  expect(await world.audit()).toMatchObject([
    {
      type: 'operation.begun',
      operation: 'trigger',
      by: LOCAL_USER,
      dlqIds: [world.id],
      newRunId: newRun,
      reason: 'the amount was wrong',
      bodyBytes: 12,
      bodySha256: sha256('{"amount":1}'),
      isEdited: false,
    },
    { type: 'operation.ended', outcome: 'accepted' },
  ]);
  const { stdout: audit } = await world.run(['audit']);
  expect(audit).toContain(
    `as the new run ${newRun}, with the same body of 12 bytes, SHA-256 ${sha256('{"amount":1}')}`,
  );
});

test.each([
  ['an empty body', ''],
  ['a binary body', Buffer.from([0, 255, 254, 10, 13, 0xc3])],
  ['1 MiB', Buffer.alloc(1_048_576, 'é')],
])('another body is sent byte by byte: %s', async (_what, body) => {
  const world = await failedRun();
  const { code, stderr } = await world.retrigger(['--body', world.file(body)]);
  expect(code, stderr).toBe(EXIT.ok);
  expect((await world.called()).body.equals(Buffer.from(body))).toBe(true);
  const [begun] = await world.audit();
  expect(begun).toMatchObject({ bodyBytes: Buffer.from(body).length, bodySha256: sha256(body), isEdited: true });
});

test('a body that is too large for the account is rejected, and a smaller one can follow', async () => {
  const world = await failedRun({ emulator: { enforceLimits: true } });
  const { code, stderr } = await world.retrigger(['--body', world.file(Buffer.alloc(1_048_577))]);
  expect([code, stderr]).toEqual([EXIT.failed, expect.stringMatching(/answered 413/)]);
  expect(await world.show()).toMatch(/not started[^]*The service rejected it: no run was started/);
  expect((await world.retrigger()).code).toBe(EXIT.ok);
  expect(world.workflow.requests.length).toBeLessThanOrEqual(1);
});

test('a binary body of the failed run is sent again byte by byte', async () => {
  const body = Buffer.from([0, 255, 254, 10, 13, 0xc3]);
  const world = await failedRun({ body });
  expect((await world.retrigger()).code).toBe(EXIT.ok);
  expect((await world.called()).body.equals(body)).toBe(true);
});

test('a lost response is never sent again: the run is found by its id', async () => {
  const world = await failedRun();
  world.onAnswer(({ url }) => (url.startsWith('/v2/trigger/') ? 'lose' : undefined));
  const { code, stderr } = await world.retrigger();
  expect([code, stderr]).toEqual([EXIT.failed, expect.stringMatching(/The outcome is unknown.*opsd dlq show/)]);
  await world.called();
  expect(await world.show()).toMatch(/running[^]*none is open/);
  const again = await world.retrigger();
  expect([again.code, again.stderr]).toEqual([
    EXIT.failed,
    expect.stringMatching(/retriggered before, as run opsd-.*none is open.*nothing was sent/s),
  ]);
  expect(world.sent()).toBe(1);
  expect(world.workflow.requests).toHaveLength(1);
});

test('a lost request is not sent again either; its next step starts the same run', async () => {
  const world = await failedRun();
  const pass = world.onRequest(({ url }) => url.startsWith('/v2/trigger/'));
  expect((await world.retrigger()).code).toBe(EXIT.failed);
  pass();
  const text = (await world.show()).replaceAll(/\s+/g, ' ');
  const next = /start the run with `opsd (workflows trigger \S+ --workflow-run-id \S+)/.exec(text)![1]!;
  expect((await world.retrigger()).stderr).toContain('the log has no message of the new run');
  expect(world.workflow.requests).toEqual([]);
  const { code, stderr } = await world.run([...next.split(' '), '--body', world.file('fixed'), '--yes']);
  expect(code, stderr).toBe(EXIT.ok);
  await world.called();
  expect(await world.show()).toContain('none is open');
});

test.each([
  ['another id', ['--confirm', 'dlq-0'], 'retrigger must be confirmed with the id'],
  ['no reason', ['--reason', ' '], '--reason is required'],
  ['no file', ['--body', '/nowhere/body'], '/nowhere/body cannot be read (ENOENT)'],
])('nothing is sent with %s', async (_what, words, message) => {
  const world = await failedRun();
  const { code, stderr } = await world.retrigger(words);
  expect(code).toBeGreaterThan(0);
  expect(stderr).toContain(message);
  expect(world.sent()).toBe(0);
  expect(await world.audit()).toEqual([]);
});

test('the id is typed at a terminal; nothing typed does nothing', async () => {
  const world = await failedRun();
  const words = ['dlq', 'retrigger', world.id, '--reason', 'why'];
  const nothing = await world.run(words, { answers: [''] });
  expect([nothing.code, nothing.stderr]).toEqual([EXIT.failed, expect.stringContaining('not confirmed')]);
  expect((await world.run(words)).stderr).toContain('Use --confirm ID');
  expect(world.sent()).toBe(0);
  expect((await world.run(words, { answers: [world.id] })).code).toBe(EXIT.ok);
});

test.each(['viewer', 'operator'] as const)('the role %s is refused', async (role) => {
  const world = await failedRun();
  const answer = await fetch(`${world.daemon.address}/api/v1/retrigger`, {
    method: 'POST',
    headers: { authorization: `Bearer ${role}-secret`, 'content-type': 'application/json' },
    body: JSON.stringify({ id: world.id, confirm: world.id, reason: 'why' }),
  });
  expect(answer.status).toBe(403);
  expect(world.sent()).toBe(0);
});

test('an unknown id, and a body that is no base64, are refused', async () => {
  const world = await failedRun();
  const { stderr } = await world.run(['dlq', 'retrigger', 'nothing', '--reason', 'why', '--confirm', 'nothing']);
  expect(stderr).toContain('No dead letter has the id nothing');
  const answer = await fetch(`${world.daemon.address}/api/v1/retrigger`, {
    method: 'POST',
    headers: { authorization: 'Bearer admin-secret', 'content-type': 'application/json' },
    body: JSON.stringify({ id: world.id, confirm: world.id, reason: 'why', body: 'a b' }),
  });
  expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('body must be base64')]);
  expect(world.sent()).toBe(0);
});

test.each([
  ['an empty body', { body: '' }, 'the service lists no body'],
  ['a hash', { body: `REDACTED:${'0'.repeat(64)}` }, 'the service lists only its hash'],
  ['replaced bytes', { body: 'caf\uFFFD' }, 'and it is binary'],
  ['a stamp', { headers: { 'Svc-Label': 'opsd:other:lineage:1' } }, 'the run was resumed'],
])('without --body, %s is no first body', async (_what, options, message) => {
  const world = await failedRun(options);
  const { code, stderr } = await world.retrigger();
  expect([code, stderr]).toEqual([
    EXIT.failed,
    expect.stringMatching(`the first body of the run is unknown: .*${message}.*Give one with --body FILE`),
  ]);
  expect(world.sent()).toBe(0);
  expect((await world.retrigger(['--body', world.file('fixed')])).code).toBe(EXIT.ok);
});

test('without --body, the run must have no other message in the log', async () => {
  const world = await failedRun({ headers: { 'Svc-Workflow-RunId': 'run-1' } });
  await world.direct('POST', `/v2/trigger/${world.url}`, {
    headers: { 'Svc-Workflow-RunId': 'run-1' },
    body: 'step 2',
  });
  await world.called();
  const { stderr } = await world.retrigger();
  expect(stderr).toContain('the log does not show that the failed message is its first one');
  expect(world.sent()).toBe(0);
});

test('a pause, the kill switch, and a mode hold it', async () => {
  const world = await failedRun();
  await world.run(['pause', '--reason', 'a closed day']);
  expect((await world.retrigger()).stderr).toContain('the engine is paused: a closed day; nothing was sent');
  await world.run(['unpause', '--reason', 'open', '--yes']);
  writeFileSync(join(world.folder, 'stop'), '');
  expect((await world.retrigger()).stderr).toMatch(/the engine is paused: .*; nothing was sent/);
  expect(world.sent()).toBe(0);
  const audit = await failedRun({ account: '    mode: audit' });
  expect((await audit.retrigger()).stderr).toMatch(/account production is in mode audit: .*; nothing was sent/);
  expect(audit.sent()).toBe(0);
});

test('afterwards nothing acts on the failed run but a manual delete', async () => {
  const world = await failedRun();
  expect((await world.retrigger()).code).toBe(EXIT.ok);
  await world.called();
  const resumed = await world.run(['dlq', 'resume', world.id, '--reason', 'why', '--yes']);
  expect(resumed.stdout + resumed.stderr).toMatch(/sent before/);
  const raw = await world.api(['resume-workflow-dlq', `dlqIds=${world.id}`, '--yes']);
  expect(raw.stderr).toMatch(/operation 1 has it/);
  expect((await world.retrigger()).stderr).toMatch(/operation 1 has it; nothing was sent/);
  expect(world.workflow.requests).toHaveLength(1);
  const deleted = await world.run(['dlq', 'delete', world.id, '--queue', 'workflow', '--reason', 'done', '--yes']);
  expect(deleted.code, deleted.stdout + deleted.stderr).toBe(EXIT.ok);
  expect(JSON.parse(await world.direct('GET', '/v2/workflows/dlq'))).toMatchObject({ messages: [] });
});

test('the limits of a flow-control key are those of the service', async () => {
  const flow = { 'Svc-Flow-Control-Key': 'bills', 'Svc-Flow-Control-Value': 'parallelism=3, rate=5, period=60' };
  const world = await failedRun({ headers: flow });
  expect((await world.retrigger()).code).toBe(EXIT.ok);
  expect(JSON.parse(await world.direct('GET', '/v2/flowControl/bills'))).toMatchObject({
    parallelismMax: 3,
    rateMax: 5,
    ratePeriod: 60,
  });
  const { stdout } = await world.run(['messages', 'list', '-o', 'json']);
  expect(stdout.match(/"flowControlKey": *"bills"/g)).toHaveLength(2);
});

test('no part of a body leaves the daemon, or is stored', async () => {
  const world = await failedRun({ body: `{"secret":"${CANARY}"}` });
  world.onAnswer(({ url }) => (url.startsWith('/v2/trigger/') ? { body: `no JSON, but ${CANARY}-edited` } : undefined));
  const outcomes = [
    await world.retrigger(['--body', world.file(`${CANARY}-edited`)]),
    await world.run(['audit']),
    await world.run(['dlq', 'show', world.id]),
  ];
  const store = ['opsd.db', 'opsd.db-wal'].map((name) => readFileSync(join(world.folder, name), 'latin1'));
  expect(JSON.stringify([outcomes, world.log, await world.audit(), store])).not.toContain(CANARY);
});
