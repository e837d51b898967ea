/** A service with a folder responds to a change when the change is on disk, and never before. */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { describe, expect, test, vi } from 'vitest';
import { httpSink } from '../../../test/support/http-sink.ts';
import { OPERATIONS } from '../../../test/support/interface-document.ts';
import { opsd, start } from '../../../test/support/program.ts';
import { tempDir } from '../../../test/support/temp-dir.ts';
import { until } from '../../../test/support/until.ts';
import { manage } from '../conformance-support.ts';
import { ACCOUNT, allLogs, TOKEN, world, type World } from '../world.ts';

/** Makes all commits fail. Returns a function that ends the failure. */
function failingCommits(): () => void {
  const exec: (this: DatabaseSync, sql: string) => void = Reflect.get(DatabaseSync.prototype, 'exec');
  const spy = vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (this: DatabaseSync, sql) {
    if (sql === 'COMMIT') throw new Error('disk I/O error');
    exec.call(this, sql);
  });
  return () => spy.mockRestore();
}

interface Place {
  readonly sink: string;
  readonly indexId: string;
}

/** One request with a change, for each operation that can make one. */
const CHANGES: Readonly<Record<string, (service: World, place: Place) => Promise<{ readonly status: number }>>> = {
  'add-endpoints': (service) =>
    service.call('POST', '/v2/topics/new/endpoints', { body: '{"endpoints":[{"url":"http://127.0.0.1:9/"}]}' }),
  publish: (service, { sink }) => service.call('POST', `/v2/publish/${sink}/`, { body: 'x' }),
  trigger: (service, { sink }) => service.call('POST', `/v2/trigger/${sink}/`, { body: 'x' }),
  'resume-workflow-dlq': (service) => service.call('POST', '/v2/workflows/dlq/resume?count=1'),
  'delete-workflow-dlq': (service) => service.call('DELETE', '/v2/workflows/dlq'),
  'delete-dlq': (service) => service.call('DELETE', '/v2/dlq'),
  'move-to-team': (service) =>
    manage(service, 'POST', '/v2/msgsvc/move-to-team', { msgsvc_id: ACCOUNT, target_team_id: 'team' }),
  'set-plan': (service) => manage(service, 'POST', `/v2/msgsvc/set-plan/${ACCOUNT}`, { plan_name: 'msgsvc_fixed_1m' }),
  'update-budget': (service) => manage(service, 'PATCH', `/v2/msgsvc/update-budget/${ACCOUNT}`, { budget: 77 }),
  'create-index': (service) =>
    manage(service, 'POST', '/v2/search', { name: 'shop', region: 'eu-west-1', type: 'payg' }),
  'rename-index': (service, { indexId }) => manage(service, 'POST', `/v2/search/${indexId}/rename`, { name: 'other' }),
  'transfer-index': (service, { indexId }) =>
    manage(service, 'POST', `/v2/search/${indexId}/transfer`, { target_account: 'team' }),
  // Last one, because it ends the token of the others.
  'rotate-token': (service) => manage(service, 'POST', `/v2/msgsvc/rotate-token/${ACCOUNT}`),
};

describe('while the disk fails', () => {
  async function prepared(folder: string) {
    const errors: unknown[] = [];
    const sink = await httpSink(
      (request, response) => void response.writeHead(request.url === '/bad' ? 500 : 200).end(),
    );
    const service = await world({ dataFolder: folder, onError: (error) => void errors.push(error) });
    const { json } = await manage(service, 'POST', '/v2/search', { name: 'first', region: 'eu-west-1', type: 'payg' });
    const headers = { 'Svc-Retries': '0' };
    await service.call('POST', `/v2/publish/${sink.url}/bad`, { headers });
    for (const run of ['one', 'two']) await service.call('POST', `/v2/trigger/${sink.url}/bad`, { headers, body: run });
    await service.drain();
    // The response arrives when everything is on disk.
    await service.call('DELETE', '/v2/dlq?dlqIds=none');
    return { service, sink, errors, place: { sink: sink.url, indexId: (json as { id: string }).id } };
  }

  test('covers every operation that makes a change', () => {
    const changing = OPERATIONS.filter(({ method }) => method !== 'GET');
    expect(Object.keys(CHANGES).toSorted()).toEqual(changing.map(({ name }) => name).toSorted());
  });

  test.each(Object.keys(CHANGES))('%s gets no success', async (operation) => {
    const { service, errors, place } = await prepared(tempDir());
    const mend = failingCommits();
    const refused = await CHANGES[operation]!(service, place);
    mend();
    expect(refused).toMatchObject({
      status: 500,
      json: { error: expect.stringMatching(/emulator\.db cannot be written/) },
    });
    expect(errors).not.toEqual([]);
  });

  test('further changes are rejected without an effect, and collected changes are written when possible', async () => {
    const folder = tempDir();
    const { service, sink, place } = await prepared(folder);
    const mend = failingCommits();
    await CHANGES['publish']!(service, place);
    await service.drain();
    const logs = await allLogs(service);
    const refused = await CHANGES['add-endpoints']!(service, place);
    expect(refused).toMatchObject({
      status: 503,
      json: { error: expect.stringContaining('The request had no effect') },
    });
    expect((await service.call('GET', '/v2/topics')).json).toEqual([]);
    expect(await allLogs(service)).toEqual(logs);
    mend();
    expect((await CHANGES['add-endpoints']!(service, place)).status).toBe(200);
    await service.drain();
    const before = await allLogs(service);
    await service.emulator.stop();
    const again = await world({ dataFolder: folder });
    expect(await allLogs(again)).toEqual(before);
    expect((await again.call('GET', '/v2/topics')).json).toMatchObject([{ name: 'new' }]);
    expect(sink.requests.filter(({ url }) => url === '/')).toHaveLength(1);
  });
});

/** Ends its own process at a moment of the first request. */
const KILLER = (at: 'commit' | 'answer') => `
  import { DatabaseSync } from 'node:sqlite';
  import { Server, ServerResponse } from 'node:http';
  const end = () => process.kill(process.pid, 'SIGKILL');
  let asked = false;
  const around = (target, name, work) => {
    const own = target[name];
    target[name] = function (...args) { return work(() => own.apply(this, args), args); };
  };
  around(Server.prototype, 'emit', (go, [name]) => { asked ||= name === 'request'; return go(); });
  ${
    at === 'commit'
      ? "around(DatabaseSync.prototype, 'exec', (go, [sql]) => { if (asked && sql === 'COMMIT') end(); return go(); });"
      : "around(ServerResponse.prototype, 'end', (go) => { const done = go(); end(); return done; });"
  }
`;

interface Start {
  /** The moment at which the process ends itself. */
  readonly killed?: 'commit' | 'answer';
  /** It can write no file larger than 1.5 MB, which SQLite treats as a full disk. */
  readonly limit?: boolean;
}

async function started(folder: string, { killed, limit }: Start = {}) {
  const preload = join(folder, 'killer.mjs');
  if (killed !== undefined) writeFileSync(preload, KILLER(killed));
  const env: Record<string, string> =
    killed === undefined ? {} : { NODE_OPTIONS: `--import=${pathToFileURL(preload).href}` };
  const args = ['emulator', '--listen', '127.0.0.1:0', '--token', TOKEN, '--no-limits', '--data', folder];
  const program = limit === true ? limited(args) : opsd(args, { env });
  const line = await until({ what: 'the ready line' }, () => /^\{.*\}$/m.exec(program.stdout())?.[0]);
  const { url } = JSON.parse(line) as { url: string };
  const headers = { authorization: `Bearer ${TOKEN}` };
  const ask = (method: string, path: string, body?: Uint8Array<ArrayBuffer>) =>
    fetch(`${url}${path}`, { method, headers, ...(body !== undefined && { body }) });
  return { program, ask };
}

/** `ulimit` counts in blocks of 512 bytes. */
function limited(args: readonly string[]) {
  const main = join(import.meta.dirname, '../../../src/opsd.js');
  return start('/bin/sh', ['-c', 'ulimit -f 3000; exec "$0" "$@"', process.execPath, main, ...args]);
}

test('a full disk: a clear error, earlier changes are kept, and the end reports the losses', async () => {
  const folder = tempDir();
  const sink = await httpSink();
  const full = await started(folder, { limit: true });
  const accepted = new Set<string>();
  const body = randomBytes(2_000);
  let refused: Response | undefined;
  while (refused === undefined && accepted.size < 500) {
    const answer = await full.ask('POST', `/v2/publish/${sink.url}/`, body);
    if (answer.status === 200) accepted.add(((await answer.json()) as { messageId: string }).messageId);
    else refused = answer;
  }
  expect(accepted.size).toBeGreaterThan(5);
  expect(await refused!.text()).toMatch(/emulator\.db cannot be written \(.+\)/);
  const next = await full.ask('POST', `/v2/publish/${sink.url}/`, body);
  expect([next.status, await next.text()]).toEqual([
    503,
    expect.stringContaining('The request had no effect: free disk space'),
  ]);
  // Reads continue.
  expect((await full.ask('GET', '/v2/logs')).status).toBe(200);
  full.program.kill('SIGTERM');
  expect(await full.program.ended).toMatchObject({ code: 1 });
  expect(full.program.stderr()).toContain('emulator.db could not be written until the end');

  const roomy = await started(folder);
  for (const id of accepted) {
    const page = await roomy.ask('GET', `/v2/logs?messageId=${id}&state=CREATED`);
    expect(((await page.json()) as { logs: readonly unknown[] }).logs).toHaveLength(1);
  }
  expect((await roomy.ask('POST', `/v2/publish/${sink.url}/`, body)).status).toBe(200);
});

describe('kill -9', () => {
  test('before the commit of a publish: no caller got a success', async () => {
    const { program, ask } = await started(tempDir(), { killed: 'commit' });
    await expect(ask('POST', '/v2/publish/http://127.0.0.1:9/')).rejects.toThrow('fetch failed');
    expect((await program.ended).signal).toBe('SIGKILL');
  });

  test('at the response to a publish: its message exists, and is delivered', async () => {
    const folder = tempDir();
    const sink = await httpSink();
    const first = await started(folder, { killed: 'answer' });
    const answer = await first.ask('POST', `/v2/publish/${sink.url}/?${'x'.repeat(100)}`);
    expect(answer.status).toBe(200);
    const { messageId } = (await answer.json()) as { messageId: string };
    expect((await first.program.ended).signal).toBe('SIGKILL');
    const second = await started(folder);
    const states = async (): Promise<unknown> => {
      const page = await second.ask('GET', `/v2/logs?messageId=${messageId}&state=DELIVERED`);
      return ((await page.json()) as { logs: readonly unknown[] }).logs[0];
    };
    await until({ what: 'the delivery' }, states);
    expect(sink.requests.map(({ headers }) => headers['svc-message-id'])).toContain(messageId);
  });
});
