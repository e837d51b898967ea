/** Writes to the archive before an entry is deleted, and cases in which the entry must not be deleted. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { safeName } from '#automate/actions/durable-file.ts';
import { redactCredentials } from '#automate/actions/redact-credentials.ts';
import type { ServiceClient } from '#service/api.ts';
import type { WorkflowDeleteProposal } from '#foundation/domain/plan.ts';
import { EventBus, type OpsEvent } from '#foundation/events/events.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { clientUnderTest, json } from '../../service/client-under-test.ts';
import { actionsOver } from '../../support/actions-over.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { unprivileged } from '../../support/unprivileged.ts';

const NOW = Date.UTC(2025, 10, 20, 12);
const NEVER = new AbortController().signal;
const CANARY = 'canary-header-31c9';

const ROW = {
  dlqId: 'dlq_1763600000000-0',
  workflowRunId: 'wfr_1',
  workflowUrl: 'https://app.example.com/invoice',
  createdAt: NOW - 100_000_000,
  header: { 'Content-Type': ['application/json'], 'Svc-Forward-Authorization': [`Bearer ${CANARY}`] },
  body: '{"card":"in the body"}',
  labels: ['billing', 'opsd:here:abc:1'],
  responseStatus: 404,
  responseBody: 'no such invoice',
  somethingNew: { nested: [1, null, 'kept'] },
};

const PROPOSAL: WorkflowDeleteProposal = {
  policy: 'delete-hopeless',
  account: 'production',
  action: 'workflow-dlq.delete',
  target: ROW.dlqId,
  group: '',
  items: 1,
  dlqId: ROW.dlqId,
  workflowRunId: ROW.workflowRunId,
  workflowUrl: ROW.workflowUrl,
  lineage: 'abc',
  failedAt: ROW.createdAt,
  labels: ['billing'],
  cause: 'permanent',
  status: 404,
};

async function stage(rows: readonly object[] = [ROW]) {
  const {
    message,
    sink,
    events: requests,
  } = await clientUnderTest({ answer: json(JSON.stringify({ messages: rows })) });
  const bus = new EventBus();
  const events: OpsEvent[] = [];
  bus.subscribe((event) => events.push(event));
  const actions = actionsOver({ message } as ServiceClient, { clock: new ManualClock(NOW), events: bus });
  const dir = join(tempDir(), 'archive');
  const prepare = (over: Partial<WorkflowDeleteProposal> = {}, options: { dir?: string; require?: boolean } = {}) =>
    actions.prepare({ ...PROPOSAL, ...over }, { archive: { dir, require: true, ...options } }, NEVER);
  return { actions, sink, requests, events, dir, prepare };
}

function filesIn(dir: string): string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(dir, join(entry.parentPath, entry.name)));
}

const sha256 = (text: string): string => `REDACTED:${createHash('sha256').update(text).digest('hex')}`;

describe('the file', () => {
  test('holds the whole row as the service returned it, and no credential', async () => {
    const s = await stage();
    expect(await s.prepare()).toBeUndefined();
    expect(filesIn(s.dir)).toEqual(['production/2025-11-20/dlq_1763600000000-0.json']);
    const text = readFileSync(join(s.dir, filesIn(s.dir)[0]!), 'utf8');
    expect(JSON.parse(text)).toEqual({
      archivedAt: '2025-11-20T12:00:00.000Z',
      account: 'production',
      policy: 'delete-hopeless',
      dlqId: ROW.dlqId,
      row: {
        ...ROW,
        header: { ...ROW.header, 'Svc-Forward-Authorization': [sha256(`Bearer ${CANARY}`)] },
      },
    });
    expect(text).not.toContain(CANARY);
    expect(JSON.stringify([s.events, s.requests])).not.toContain(CANARY);
    // The only request reads the entry's own run.
    expect(s.sink.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /v2/workflows/dlq?workflowRunId=wfr_1&count=100',
    ]);
  });

  test("can be read only by the daemon's user", async () => {
    const s = await stage();
    await s.prepare();
    const path = join(s.dir, filesIn(s.dir)[0]!);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    for (let at = dirname(path); at !== dirname(s.dir); at = dirname(at)) expect(statSync(at).mode & 0o777).toBe(0o700);
  });

  test('is synced before the rename to its name, and its folders after', async () => {
    const s = await stage();
    const synced: string[] = [];
    const path = join(s.dir, 'production/2025-11-20', `${ROW.dlqId}.json`);
    await onHandles('sync', async function (this: FileHandle, real) {
      const at = readlinkSync(`/proc/self/fd/${this.fd}`);
      synced.push(`${existsSync(path) ? 'after' : 'before'} ${at.endsWith('.tmp') ? 'file' : relative(s.dir, at)}`);
      await real.call(this);
    });
    expect(await s.prepare()).toBeUndefined();
    expect(synced).toEqual(['before file', 'after production/2025-11-20', 'after production', 'after ', 'after ..']);
  });

  test('is written for many entries at once', async () => {
    const ids = Array.from({ length: 20 }, (_, i) => `dlq-${i}`);
    const s = await stage(ids.map((dlqId) => ({ ...ROW, dlqId })));
    expect(await Promise.all(ids.map((dlqId) => s.prepare({ dlqId })))).toEqual(ids.map(() => undefined));
    expect(filesIn(s.dir)).toHaveLength(20);
  });

  test('is written again when the same entry is prepared again', async () => {
    const s = await stage();
    await s.prepare();
    writeFileSync(join(s.dir, filesIn(s.dir)[0]!), 'half of a file of an older daemon');
    expect(await s.prepare()).toBeUndefined();
    expect(filesIn(s.dir)).toHaveLength(1);
    expect(JSON.parse(readFileSync(join(s.dir, filesIn(s.dir)[0]!), 'utf8'))).toHaveProperty('row.body', ROW.body);
  });

  test.each([
    '../../../escaped',
    '..',
    '/etc/passwd',
    'a/b',
    'nul\u0001',
    'x'.repeat(1_000),
    'ünïcode',
    '.hidden',
    '~',
  ])('of the id %j stays in the archive', async (dlqId) => {
    const s = await stage([{ ...ROW, dlqId }]);
    expect(await s.prepare({ dlqId })).toBeUndefined();
    expect(filesIn(dirname(s.dir))).toHaveLength(1);
    expect(filesIn(s.dir)).toHaveLength(1);
    expect(JSON.parse(readFileSync(join(s.dir, filesIn(s.dir)[0]!), 'utf8'))).toHaveProperty('dlqId', dlqId);
  });

  test('names: any two ids have different names, and each is one harmless part of a path', () => {
    const ids = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string(),
      fc.constantFrom('a', 'A~', '../a', 'a~b', '\ud800', '\ud801'),
    );
    fc.assert(
      fc.property(ids, ids, (a, b) => {
        const name = safeName(a);
        expect(name).toMatch(/^[\w~-][\w.~-]*$/);
        expect(name.length).toBeLessThan(200);
        expect(resolve('/archive', name).split(sep)).toHaveLength(3);
        expect(safeName(b) === name).toBe(a === b);
      }),
      { numRuns: 300 },
    );
  });
});

describe('credentials', () => {
  const NAMES = [
    'Authorization Proxy-Authorization Cookie Set-Cookie X-Api-Key apikey Ocp-Apim-Subscription-Key',
    'X-Amz-Security-Token X-Csrf-Token Svc-Signature X-Hub-Signature-256 X-Client-Secret X-Auth X-Session-Id',
    'X-Password Stripe-Signature',
  ].flatMap((names) => names.split(' '));
  const PREFIXES = ['', 'Svc-Forward-', 'Svc-Callback-Forward-', 'Svc-Failure-Callback-Forward-', 'X-Original-'];

  test('of any header are not kept, in any case, prefix or form', () => {
    const recased = (name: string): fc.Arbitrary<string> =>
      fc.constantFrom(name, name.toLowerCase(), name.toUpperCase());
    fc.assert(
      fc.property(
        fc
          .tuple(fc.constantFrom(...PREFIXES), fc.constantFrom(...NAMES))
          .chain(([prefix, name]) => recased(prefix + name)),
        fc.constantFrom('header', 'responseHeader', 'responseHeaders', 'callbackHeaders', 'sourceHeader'),
        fc.constantFrom<(name: string) => unknown>(
          (name) => ({ [name]: CANARY }),
          (name) => ({ [name]: ['first', CANARY] }),
          (name) => ({ [name]: { value: CANARY } }),
          (name) => [[name, CANARY]],
          (name) => [{ name, value: CANARY }],
          (name) => `${name}: ${CANARY}`,
        ),
        (name, field, form) => {
          const kept = JSON.stringify(redactCredentials({ [field]: form(name), nested: { [field]: form(name) } }));
          expect(kept).not.toContain(CANARY);
          expect(kept).toContain('REDACTED:');
        },
      ),
    );
  });

  test.each([
    ['a bearer under another name', { header: { 'X-Upstream': `Bearer ${CANARY}` } }],
    ['basic under another name', { header: { 'X-Upstream': [`basic ${CANARY}`] } }],
    ['a JSON web token', { header: { 'X-Upstream': `id eyJhbGciOiJI.${CANARY}.sig` } }],
    ['user and password of a URL', { url: `https://ops:${CANARY}@app.example.com/x` }],
    ['a password with an @', { failureCallback: `https://ops:p@${CANARY}@app.example.com/x` }],
    ['a parameter of a URL', { workflowUrl: `https://app.example.com/x?a=1&access_token=${CANARY}` }],
    ['an encoded parameter', { url: `https://app.example.com/x?api%5Fkey=${CANARY}&b=2` }],
    ['a URL in a header', { header: { Referer: [`https://app.example.com/?sig=${CANARY}`] } }],
    ['a field of its own', { clientSecret: CANARY }],
    ['a number', { header: { 'X-Pin': 271_828 } }],
  ])('%s', (_what, row) => {
    const kept = JSON.stringify(redactCredentials(row));
    expect(kept).not.toMatch(/canary|271828/);
    expect(kept).toContain('REDACTED:');
  });

  test('are written as the service writes redacted values, and already redacted values stay', () => {
    const before = sha256('known to the service');
    const row = redactCredentials({ header: { Cookie: ['a=b', before], 'X-Api-Key': '' } });
    expect(row).toEqual({ header: { Cookie: [sha256('a=b'), before], 'X-Api-Key': sha256('') } });
  });

  test('are the only removed parts', () => {
    const row = {
      ...ROW,
      header: {
        'Content-Type': ['application/json'],
        'Svc-Flow-Control-Key': ['tenant-14'],
        'Idempotency-Key': 'i-1',
        traceparent: '00-1-1-01',
        'Svc-Retries': '3',
      },
      url: 'https://app.example.com/x?a=1&b=two#there',
      bodyBase64: 'eyJhbGciOiJI.e30.x',
      flowControlKey: 'tenant-14',
      failureFunctionState: 'CALLBACK_FAIL',
      failureCallbackInfo: { state: 'CALLBACK_FAIL' },
      callerIP: '203.0.113.7',
      ['__proto__']: 'a field as any other',
      nothing: null,
    };
    expect(JSON.stringify(redactCredentials(row))).toBe(JSON.stringify(row));
  });
});

describe('an entry is not deleted', () => {
  test('that is gone, required or not', async () => {
    const s = await stage([{ ...ROW, dlqId: 'another' }]);
    expect(await s.prepare()).toBe('the entry is no longer in the DLQ');
    expect(await s.prepare({}, { require: false })).toBe('the entry is no longer in the DLQ');
    expect(filesIn(s.dir)).toEqual([]);
  });

  test.each([
    ['another run', { workflowRunId: 'wfr_2' }],
    ['another workflow', { workflowUrl: 'https://app.example.com/refund' }],
    ['it failed at another time', { createdAt: ROW.createdAt + 1 }],
    ['another status', { responseStatus: 503 }],
    ['other labels', { labels: ['billing', 'legal-hold'] }],
    ['other labels', { labels: [] }],
  ])('that has changed: %s', async (what, over) => {
    const s = await stage([{ ...ROW, ...over }]);
    for (const require of [true, false]) {
      expect(await s.prepare({}, { require })).toBe(`the entry has changed since it was planned: ${what}`);
    }
    expect(filesIn(s.dir)).toEqual([]);
  });

  test.each<[string, (s: Awaited<ReturnType<typeof stage>>) => unknown, string]>([
    ['its row cannot be read', (s) => s.sink.answerWith(json('{"messages":[{"dlqId":7}]}')), '1 rows of its run'],
    ['the service fails', (s) => s.sink.answerWith(json('{"error":"no"}', 403)), 'the service answered 403'],
    ['the listing has no end', (s) => s.sink.answerWith(json('{"messages":[],"cursor":"on"}')), 'first 20 pages'],
    ['the archive is a file', (s) => writeFileSync(s.dir, ''), 'ENOTDIR'],
    [
      'a folder has its name',
      (s) => mkdirSync(join(s.dir, 'production/2025-11-20', `${ROW.dlqId}.json`, 'x'), { recursive: true }),
      'EISDIR',
    ],
    ['the disk is full', () => failing('writeFile', 'ENOSPC: no space left on device'), 'ENOSPC'],
    ['the disk is broken', () => failing('sync', 'EIO: i/o error, fsync'), 'EIO'],
  ])('when %s, but is where the archive is not required', async (_what, spoil, why) => {
    const s = await stage();
    await spoil(s);
    expect(await s.prepare()).toMatch(new RegExp(`^cannot be archived: .*${why}`));
    expect(s.events).toEqual([]);
    expect(await s.prepare({}, { require: false })).toBeUndefined();
    expect(s.events).toEqual([
      {
        type: 'archive.failed',
        policy: 'delete-hopeless',
        account: 'production',
        dlqId: ROW.dlqId,
        reason: expect.stringMatching(why) as string,
      },
    ]);
    if (existsSync(s.dir) && statSync(s.dir).isDirectory()) expect(filesIn(s.dir)).toEqual([]);
  });

  test('when its folder is not writable, or cannot become so', async () => {
    const s = await stage();
    mkdirSync(s.dir, { mode: 0o500 });
    expect(await unprivileged(async () => s.prepare())).toMatch(/^cannot be archived: EACCES/);
    expect(await s.prepare({}, { dir: '/proc/archive' })).toMatch(/^cannot be archived: ENOENT/);
  });

  test('when the daemon stops in the meantime, or no archive is set', async () => {
    const s = await stage();
    for (const require of [true, false]) {
      const options = { archive: { dir: s.dir, require } };
      const stopped = await s.actions.prepare(PROPOSAL, options, AbortSignal.abort(new Error('stopping')));
      expect(stopped).toBe('the daemon is stopping; the entry is not archived yet');
    }
    expect(await s.actions.prepare(PROPOSAL, {}, NEVER)).toBe('a delete needs an archive; set action.archive');
    expect(await s.prepare({ account: 'nobody' })).toBe('cannot be archived: the account has no message API');
    expect(filesIn(s.dir)).toEqual([]);
  });
});

test('an entry is found on a later page of its run', async () => {
  const s = await stage();
  s.sink.answerWith((request, response) => {
    const isFirst = !request.url.includes('cursor=');
    response.end(JSON.stringify(isFirst ? { messages: [], cursor: 'c/2' } : { messages: [ROW] }));
  });
  expect(await s.prepare()).toBeUndefined();
  expect(s.sink.requests.map(({ url }) => url)).toEqual([
    '/v2/workflows/dlq?workflowRunId=wfr_1&count=100',
    '/v2/workflows/dlq?workflowRunId=wfr_1&count=100&cursor=c%2F2',
  ]);
});

test('only deletes of workflow runs are prepared', async () => {
  const s = await stage();
  const { account, policy, target, group, items } = PROPOSAL;
  const others = { account, policy, target, group, items };
  const raise = { ...others, action: 'budget.raise', fromUsd: 20, toUsd: 40 } as const;
  expect(await s.actions.prepare(raise, {}, NEVER)).toBeUndefined();
  const { lineage, cause, labels, dlqId, workflowRunId, workflowUrl, failedAt } = PROPOSAL;
  const run = { lineage, cause, labels, dlqId, workflowRunId, workflowUrl, failedAt, attempt: 1 };
  expect(await s.actions.prepare({ ...others, ...run, action: 'workflow-dlq.resume' }, {}, NEVER)).toBeUndefined();
  expect(s.sink.requests).toEqual([]);
});

type Method = (this: FileHandle, real: () => Promise<void>) => Promise<void>;

/** Replaces a method of every open file until the test ends. */
async function onHandles(name: 'sync' | 'writeFile', method: Method): Promise<void> {
  const handle = await open('/dev/null', 'r');
  const prototype = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  const real = prototype[name] as () => Promise<void>;
  vi.spyOn(prototype, name).mockImplementation(function (this: FileHandle) {
    return method.call(this, real);
  });
}

function failing(name: 'sync' | 'writeFile', message: string): Promise<void> {
  return onHandles(name, () => Promise.reject(new Error(message)));
}
