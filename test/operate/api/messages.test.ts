/** Search of the message log, and the timeline of one message or run, over real HTTP and a scripted service. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { LogEntry } from '#foundation/domain/log-entry.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { LiveReads, type LogApi } from '#operate/api/live-reads.ts';
import type { MessageDetail, MessagesView } from '#operate/contract/messages.ts';
import { MessageSearches, searchLog } from '#operate/api/messages.ts';
import type { LogQuery } from '#service/api.ts';
import { ServiceError } from '#service/service-error.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { action, asked, got, ledger, NOW, proposal, world, type World } from '../http/world.ts';

const HOSTILE = `<script>alert("x")</script>'&\u202e`;
const STILL = new AbortController().signal;

interface Scripted extends LogApi {
  readonly queries: LogQuery[];
}

/** Log that applies `messageId`, and returns pages of `count` entries in the given order. */
function logOf(entries: readonly LogEntry[], dlq: readonly WorkflowDlqEntry[] = []): Scripted {
  const queries: LogQuery[] = [];
  return {
    queries,
    async listLogs(query) {
      queries.push(query);
      const matching = entries.filter(
        ({ messageId }) => query.messageId === undefined || messageId === query.messageId,
      );
      const from = Number(query.cursor ?? 0);
      const to = from + (query.count ?? 100);
      const rest = to < matching.length ? { cursor: String(to) } : {};
      return { value: matching.slice(from, to), dropped: 0, ...rest };
    },
    listWorkflowDlq: async (query) => ({
      value: dlq.filter(({ workflowRunId }) => workflowRunId === query.workflowRunId),
      dropped: 0,
    }),
  };
}

function entry(messageId: string, at: number, state: LogEntry['state'], more: Partial<LogEntry> = {}): LogEntry {
  return { messageId, time: NOW + at, labels: [], ...(state !== undefined && { state }), ...more };
}

interface Used {
  readonly usedToday: number;
  readonly allowedPerDay: number;
}

function readingWorld(api: LogApi, overrides: Partial<World> = {}, usage?: Used): World {
  const clock = new ManualClock(NOW);
  return world({
    accounts: [{ name: 'production' }, { name: 'bare' }],
    liveReads: new LiveReads({
      clock,
      messageApi: (account) => (account === 'production' ? api : undefined),
      usage: () => usage,
    }),
    ...overrides,
  });
}

async function refusal(deps: World, path: string) {
  const { status, headers, body } = await asked(deps, path);
  const { error } = body as { error: { code: string; message: string } };
  return { status, ...error, retryAfter: headers['retry-after'] };
}

describe('/api/v1/messages', () => {
  test('a message is one row, with the state of its newest entry and the facts of all', async () => {
    const api = logOf([
      entry('m1', 30, 'DELIVERED', { responseStatus: 200, labels: ['b'] }),
      entry('m2', 25, 'ERROR', { error: HOSTILE, responseStatus: 503, nextDeliveryTime: NOW + 99 }),
      entry('m1', 20, 'ERROR', { error: 'x', responseStatus: 500 }),
      entry('m1', 10, 'CREATED', { url: 'https://a.example/x?token=1', workflowRunId: 'r', labels: ['a'] }),
      entry('m2', 25, 'RETRY'),
    ]);
    const { messages, cursor, read } = await got<MessagesView>(readingWorld(api), '/api/v1/messages?limit=200');
    expect(messages).toEqual([
      {
        account: 'production',
        messageId: 'm1',
        at: NOW + 30,
        state: 'DELIVERED',
        responseStatus: 200,
        url: 'https://a.example/x',
        workflowRunId: 'r',
        labels: ['b'],
        traceId: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
      },
      expect.objectContaining({ messageId: 'm2', at: NOW + 25, state: 'RETRY' }) as object,
    ]);
    expect(messages[1]).not.toHaveProperty('error');
    expect(cursor).toBeUndefined();
    expect(read).toEqual({ pages: 1, entries: 5, dropped: 0, mismatched: 0 });
  });

  test('all filters reach the service, and entries that contradict them are left out', async () => {
    const api = logOf([
      entry('m', -5, 'ERROR', { url: 'https://a.example', labels: ['x'] }),
      entry('m', -6, 'DELIVERED'),
      entry('m', -7, 'ERROR', { url: 'https://b.example' }),
      entry('m', -8, 'ERROR', { labels: ['y'] }),
      entry('m', -9_000_000, 'ERROR'),
    ]);
    const path =
      '/api/v1/messages?account=production&messageId=m&state=ERROR&url=https%3A%2F%2Fa.example&topicName=t' +
      `&scheduleId=s&queueName=q&label=x&label=z&since=2h&toDate=${NOW}&limit=10`;
    const { messages, read } = await got<MessagesView>(readingWorld(api), path);
    expect(api.queries).toEqual([
      {
        messageId: 'm',
        state: 'ERROR',
        url: 'https://a.example',
        topicName: 't',
        scheduleId: 's',
        queueName: 'q',
        label: ['x', 'z'],
        fromDate: NOW - 7_200_000,
        toDate: NOW,
        count: 5,
      },
    ]);
    expect(messages.map(({ at }) => at)).toEqual([NOW - 5]);
    expect(read.mismatched).toBe(4);
  });

  test('a host, the beginning of a URL and a status are evaluated here, and a whole URL by the service first', async () => {
    const api = logOf([
      entry('a', 0, 'ERROR', { url: 'https://a.example/x', responseStatus: 503 }),
      entry('b', -1, 'ERROR', { url: 'https://b.example/x', responseStatus: 503 }),
      entry('c', -2, 'ERROR', { responseStatus: 503 }),
      entry('d', -3, 'DELIVERED', { url: 'https://a.example/x', responseStatus: 200 }),
      entry('e', -4, 'CREATED', { url: 'https://a.example/y' }),
    ]);
    // As the service does.
    const exact: LogApi = {
      ...api,
      async listLogs(query, options) {
        const { value, ...rest } = await api.listLogs(query, options);
        return { ...rest, value: value.filter(({ url }) => query.url === undefined || url === query.url) };
      },
    };
    const found = async (query: string): Promise<readonly string[]> => {
      api.queries.length = 0;
      const { messages } = await got<MessagesView>(readingWorld(exact), `/api/v1/messages?${query}`);
      return messages.map(({ messageId }) => messageId);
    };
    expect(await found('url=a.example')).toEqual(['a', 'd', 'e']);
    expect(api.queries.map(({ url }) => url)).toEqual([undefined]);
    expect(await found('url=a.example&responseStatus=5xx')).toEqual(['a']);
    expect(await found('responseStatus=200&responseStatus=503')).toEqual(['a', 'b', 'c', 'd']);
    expect(api.queries[0]).not.toHaveProperty('responseStatus');
    const whole = encodeURIComponent('https://a.example/x');
    expect(await found(`url=${whole}`)).toEqual(['a', 'd']);
    expect(api.queries.map(({ url }) => url)).toEqual(['https://a.example/x']);
    expect(await found(`url=${encodeURIComponent('https://a.example/')}`)).toEqual(['a', 'd', 'e']);
    expect(api.queries.map(({ url }) => url)).toEqual(['https://a.example/', undefined]);
  });

  test('the cursor of a search by host continues as it began', async () => {
    const entries = Array.from({ length: 600 }, (_, at) =>
      entry(`m${at}`, -at, 'ERROR', { url: `https://${at === 599 ? 'a' : 'b'}.example/x` }),
    );
    const deps = readingWorld(logOf(entries));
    const first = await got<MessagesView>(deps, '/api/v1/messages?url=a.example&limit=200');
    expect(first).toMatchObject({ messages: [], read: { pages: 5, mismatched: 500 } });
    const rest = await got<MessagesView>(deps, `/api/v1/messages?url=a.example&limit=200&cursor=${first.cursor}`);
    expect(rest.messages.map(({ messageId }) => messageId)).toEqual(['m599']);
    expect(rest.cursor).toBeUndefined();
  });

  test('without states in the log, the state is that of the filter, or unknown', async () => {
    const api = logOf([entry('m', 0, undefined)]);
    const stateOf = async (filter: string): Promise<unknown> =>
      (await got<MessagesView>(readingWorld(api), `/api/v1/messages${filter}`)).messages[0]!.state;
    expect(await stateOf('')).toBeUndefined();
    expect(await stateOf('?state=DELIVERED')).toBe('DELIVERED');
    expect(await stateOf('?state=IN_PROGRESS')).toBeUndefined();
  });

  test('a call sends at most 5 requests, and its cursor continues', async () => {
    const entries = Array.from({ length: 600 }, (_, at) => entry('m', -at, 'ERROR'));
    const api = logOf(entries);
    const deps = readingWorld(api);
    const first = await got<MessagesView>(deps, '/api/v1/messages?limit=200');
    expect(first).toMatchObject({ messages: [{ messageId: 'm', at: NOW }], read: { pages: 5, entries: 500 } });
    const rest = await got<MessagesView>(deps, `/api/v1/messages?limit=200&cursor=${first.cursor}`);
    expect(rest).toMatchObject({ messages: [], read: { pages: 1, entries: 100 } });
    expect(rest.cursor).toBeUndefined();
  });

  test('whatever the order of the log: every message once, unless a later page has news, never more than the limit', async () => {
    const log = fc.array(fc.record({ id: fc.integer({ min: 0, max: 12 }), at: fc.integer({ min: 0, max: 40 }) }), {
      maxLength: 60,
    });
    await fc.assert(
      fc.asyncProperty(log, fc.integer({ min: 1, max: 9 }), async (facts, limit) => {
        const api = logOf(facts.map(({ id, at }) => entry(`m${id}`, at, 'ERROR')));
        const { clock, liveReads, searches } = readingWorld(api);
        const newest = new Map<string, number>();
        let cursor: string | undefined;
        do {
          const search = { filters: {}, limit, ...(cursor !== undefined && { cursor }) };
          const page = await searchLog({ clock, liveReads, searches }, 'production', search, STILL);
          // A repeated call returns the same rows.
          const again = await searchLog({ clock, liveReads, searches }, 'production', search, STILL);
          if (cursor !== undefined) expect(again.messages).toEqual(page.messages);
          expect(page.messages.length).toBeLessThanOrEqual(limit);
          for (const { messageId, at, isUpdate } of page.messages) {
            expect(isUpdate === true).toBe(newest.has(messageId));
            expect(at).toBeGreaterThan(newest.get(messageId) ?? -1);
            newest.set(messageId, at);
          }
          cursor = page.cursor;
        } while (cursor !== undefined);
        const truth = new Map<string, number>();
        for (const { id, at } of facts) truth.set(`m${id}`, Math.max(NOW + at, truth.get(`m${id}`) ?? 0));
        expect(newest).toEqual(truth);
      }),
      { numRuns: 200 },
    );
  });

  test('the memory of searches is bounded', () => {
    const searches = new MessageSearches();
    const first = searches.of('first');
    for (let other = 0; other < 64; other += 1) searches.of(`other ${other}`);
    expect(searches.of('first')).not.toBe(first);
  });

  test.each([
    ['?state=FAILED', 'state must be one of CREATED'],
    ['?account=bare', 'Account bare has no message API configured'],
    ['?cursor=x', 'The cursor is invalid; start again without a cursor.'],
    [`?cursor=${Buffer.from('["a",1,""]').toString('base64url')}`, 'The cursor is invalid'],
    ['?since=1h&fromDate=1h', 'since and fromDate name the same time'],
    ['?label=', 'label must not be empty.'],
    ['?responseStatus=50', 'must be a status such as 503, or a class such as 5xx'],
    [`?cursor=${Buffer.from('["a",1,"c"]').toString('base64url')}`, 'The cursor is invalid'],
    ['?count=5', 'unknown parameters: count; available: account, messageId'],
    ['?limit=201', 'limit must be an integer from 1 to 200.'],
  ])('%s is rejected', async (query, message) => {
    const api = logOf([]);
    expect((await refusal(readingWorld(api), `/api/v1/messages${query}`)).message).toContain(message);
    expect(api.queries).toEqual([]);
  });

  test('with several readable accounts, one must be named', async () => {
    const api = logOf([]);
    const liveReads = new LiveReads({ clock: new ManualClock(NOW), messageApi: () => api, usage: () => undefined });
    expect(await refusal(readingWorld(api, { liveReads }), '/api/v1/messages')).toMatchObject({
      status: 400,
      message: 'account is required; it must be one of: production, bare.',
    });
    expect((await refusal(world(), '/api/v1/messages')).message).toBe(
      'account is required; no account has a message API.',
    );
  });
});

describe('the request budget', () => {
  test('the last tenth of a day’s requests is kept for collectors and policies', async () => {
    const api = logOf([entry('m', 0, 'ERROR')]);
    const at = (usedToday: number) => readingWorld(api, {}, { usedToday, allowedPerDay: 100 });
    await got(at(89), '/api/v1/messages');
    expect(api.queries).toHaveLength(1);
    for (const path of ['/api/v1/messages', '/api/v1/messages/m']) {
      const refused = await refusal(at(90), path);
      expect(refused).toMatchObject({ status: 429, code: 'budget', retryAfter: String((24 - 10.5) * 3_600) });
      expect(refused.message).toContain('90 of 100 requests of this UTC day are used');
      expect(refused.message).toContain('Retry at 2026-11-19T00:00:00.000Z');
    }
    expect(api.queries).toHaveLength(1);
  });

  test('two reads of an account run at once; a third one is rejected', async () => {
    const gate = Promise.withResolvers<void>();
    const clock = new ManualClock(NOW);
    const liveReads = new LiveReads({ clock, messageApi: () => logOf([]), usage: () => undefined });
    const running = [1, 2].map(() => liveReads.read('production', 1, () => gate.promise));
    const third = liveReads.read('production', 1, () => Promise.resolve(3));
    await expect(third).rejects.toMatchObject({ status: 503, code: 'busy', headers: { 'Retry-After': '2' } });
    expect(await liveReads.read('other', 1, () => Promise.resolve(4))).toBe(4);
    gate.resolve();
    await Promise.all(running);
    expect(await liveReads.read('production', 1, () => Promise.resolve(5))).toBe(5);
  });

  test.each([
    ['connection', 503, 'service_unavailable', undefined],
    ['rate_limited', 503, 'service_unavailable', '30'],
    ['unauthorized', 503, 'service_unavailable', undefined],
    ['client_error', 502, 'service_error', undefined],
    ['malformed', 502, 'service_error', undefined],
    ['budget', 429, 'budget', String((24 - 10.5) * 3_600)],
    // The configuration or the owner of the account changed during the read.
    ['aborted', 503, 'busy', '2'],
  ] as const)('a %s error of the service is status %s with its reason', async (code, status, name, retryAfter) => {
    const details = {
      code,
      operation: 'list-logs',
      effect: 'none',
      ...(code === 'rate_limited' && { retryAfterMs: 29_500 }),
    } as const;
    const failing = () => Promise.reject(new ServiceError('list-logs: no route to host', details));
    const deps = readingWorld({ ...logOf([]), listLogs: failing });
    for (const path of ['/api/v1/messages', '/api/v1/messages/m']) {
      const refused = await refusal(deps, path);
      expect(refused).toMatchObject({ status, code: name });
      expect(refused.message).toContain('list-logs: no route to host');
      expect(refused.retryAfter).toBe(retryAfter);
    }
  });
});

describe('/api/v1/messages/{id}', () => {
  test('a message has its attempts with exact times, and the daemon’s own actions', async () => {
    const api = logOf([
      entry('m', 0, 'CREATED', { url: 'https://a.example', labels: ['x'], workflowRunId: 'r', maxRetries: 3 }),
      entry('m', 100, 'ACTIVE'),
      entry('m', 350, 'ERROR', {
        responseStatus: 503,
        error: `${HOSTILE} token=abcdef123456`,
        nextDeliveryTime: NOW + 1_350,
      }),
      entry('m', 350, 'RETRY'),
      entry('m', 1_400, 'ACTIVE'),
      entry('m', 1_500, 'DELIVERED', { responseStatus: 200 }),
    ]);
    const deps = readingWorld(api, {
      ledger: ledger({
        actionsOn: async (_account, ids) => ([...ids].includes('r') ? [action({ id: 5, at: NOW + 2_000 })] : []),
      }),
    });
    const { account, message } = await got<MessageDetail>(deps, '/api/v1/messages/m');
    expect(account).toBe('production');
    expect(message).toMatchObject({
      messageId: 'm',
      state: 'DELIVERED',
      isOpen: false,
      createdAt: NOW,
      endedAt: NOW + 1_500,
      totalMs: 1_500,
      outcome: 'delivered',
      entryMode: 'transitions',
      url: 'https://a.example',
      labels: ['x'],
      workflowRunId: 'r',
      maxRetries: 3,
      unknown: [],
    });
    expect(message!.timeline).toEqual([
      { at: NOW, kind: 'created' },
      {
        at: NOW + 100,
        sinceMs: 100,
        kind: 'attempt',
        attempt: {
          number: 1,
          dueAt: NOW,
          startedAt: NOW + 100,
          waitedMs: 100,
          durationMs: 250,
          endedAt: NOW + 350,
          outcome: 'failed',
          responseStatus: 503,
          failure: 'http',
          error: `${HOSTILE} token=[secret]`,
          nextDeliveryAt: NOW + 1_350,
        },
      },
      {
        at: NOW + 1_400,
        sinceMs: 1_300,
        kind: 'attempt',
        attempt: {
          number: 2,
          dueAt: NOW + 1_350,
          startedAt: NOW + 1_400,
          waitedMs: 50,
          durationMs: 100,
          endedAt: NOW + 1_500,
          outcome: 'delivered',
          responseStatus: 200,
        },
      },
      { at: NOW + 1_500, sinceMs: 100, kind: 'ended', outcome: 'delivered' },
      { at: NOW + 2_000, sinceMs: 500, kind: 'action', action: expect.objectContaining({ id: 5 }) as object },
    ]);
  });

  test('what the log does not have is said to be unknown', async () => {
    const snapshot = await got<MessageDetail>(readingWorld(logOf([entry('m', 5, 'DELIVERED')])), '/api/v1/messages/m');
    expect(snapshot.message).toMatchObject({ entryMode: 'snapshot', state: 'DELIVERED' });
    expect(snapshot.message).not.toHaveProperty('createdAt');
    expect(snapshot.message!.unknown.join(' ')).toContain('one entry for this message');

    const late = logOf([entry('m', 5, 'ERROR', { nextDeliveryTime: NOW + 60 }), entry('m', 50, 'ACTIVE')]);
    const { message } = await got<MessageDetail>(readingWorld(late), '/api/v1/messages/m');
    expect(message).toMatchObject({ isOpen: true, state: 'ACTIVE' });
    expect(message!.unknown).toEqual([
      'The log has no entry of the creation: it may have expired there.',
      'The log has no start of 1 attempt.',
      `The log has no end of the message; its newest entry is of ${new Date(NOW + 50).toISOString()}.`,
    ]);
    const [first, second] = message!.timeline;
    expect(first).toMatchObject({ kind: 'attempt', attempt: { number: 1, endedAt: NOW + 5 } });
    expect(first).not.toHaveProperty('attempt.startedAt');
    expect(second).toMatchObject({
      kind: 'attempt',
      attempt: { number: 2, startedAt: NOW + 50, outcome: 'in_progress' },
    });
  });

  test('a dead letter that the log no longer has is known from its failure callback', async () => {
    const deadLetter = {
      account: 'production',
      dlqId: 'd1',
      messageId: 'm9',
      learnedAt: NOW - 5,
      status: 500,
      labels: ['x'],
    };
    const deps = readingWorld(logOf([]), { ledger: ledger({ deadLetters: async () => [deadLetter] }) });
    for (const id of ['d1', 'm9']) {
      const { message } = await got<MessageDetail>(deps, `/api/v1/messages/${id}`);
      expect(message).toMatchObject({ messageId: 'm9', labels: ['x'] });
      expect(message!.timeline).toEqual([{ at: NOW - 5, kind: 'failure_callback', responseStatus: 500 }]);
      expect(message!.unknown).toHaveLength(1);
    }
  });

  test('has the deploys of what is behind its URL, since its creation', async () => {
    const url = 'https://app.example.com/api/a';
    const log = logOf([entry('m', 5, 'CREATED', { url }), entry('m', 50, 'FAILED', { url })]);
    const deployed = (id: number, at: number, of: string) => ({
      id,
      account: 'production',
      of: [of],
      version: `v${id}`,
      at: NOW + at,
      isRollback: false,
    });
    const all = [deployed(3, 60, 'other.example.com'), deployed(2, 55, 'app.example.com'), deployed(1, 1, url)];
    const deploys = async (_accounts: readonly string[], since: number) => all.filter(({ at }) => at >= since);
    const deps = readingWorld(log, { ledger: ledger({ deploys }) });
    const { message } = await got<MessageDetail>(deps, '/api/v1/messages/m');
    expect(message!.timeline.map(({ at, kind }) => [at - NOW, kind])).toEqual([
      [5, 'created'],
      [50, 'attempt'],
      [50, 'ended'],
      [55, 'deploy'],
    ]);
    expect(message!.timeline.at(-1)).toMatchObject({ version: 'v2', text: 'v2 was deployed: app.example.com' });
  });

  test('a run has its messages and its lineage', async () => {
    const workflowUrl = 'https://app.example.com/w';
    const failed: WorkflowDlqEntry = {
      dlqId: 'd',
      workflowRunId: 'r2',
      workflowUrl,
      workflowCreatedAt: NOW,
      createdAt: NOW + 900,
      labels: ['billing'],
      responseStatus: 500,
    };
    const api = logOf(
      [
        entry('s2', 600, 'ERROR', { workflowRunId: 'r2', url: workflowUrl }),
        entry('s1', 10, 'CREATED', { workflowRunId: 'r2', url: workflowUrl }),
        entry('s1', 300, 'DELIVERED', { workflowRunId: 'r2', url: workflowUrl }),
        entry('other', 20, 'CREATED', { workflowRunId: 'r9', url: workflowUrl }),
      ],
      [failed],
    );
    const resume = action({
      id: 3,
      at: NOW + 5_000,
      newRunId: 'r3',
      outcome: 'verified',
      proposal: proposal({ workflowRunId: 'r2' }),
    });
    const deps = readingWorld(api, {
      ledger: ledger({ actionsOn: async () => [resume], resumedFrom: async () => new Map([['r2', 'r1']]) }),
    });
    const { run } = await got<MessageDetail>(deps, '/api/v1/messages/r2?account=production');
    expect(run).toMatchObject({
      workflowRunId: 'r2',
      workflowUrl,
      dlqId: 'd',
      createdAt: NOW,
      failedAt: NOW + 900,
      responseStatus: 500,
      labels: ['billing'],
      resumedFrom: 'r1',
      resumedAs: [{ workflowRunId: 'r3', at: NOW + 5_000, outcome: 'verified' }],
      unknown: [],
    });
    expect(run!.messages.map(({ messageId, state }) => [messageId, state])).toEqual([
      ['s1', 'DELIVERED'],
      ['s2', 'ERROR'],
    ]);
    expect(run!.timeline.map(({ kind, at, sinceMs }) => [kind, at - NOW, sinceMs])).toEqual([
      ['created', 0, undefined],
      ['ended', 900, 900],
      ['action', 5_000, 4_100],
    ]);
    expect(api.queries.at(-1)).toMatchObject({ url: workflowUrl, fromDate: NOW, toDate: NOW + 600_900 });
  });

  test('a run with too many messages is shown as far as it was read', async () => {
    const workflowUrl = 'https://app.example.com/w';
    const rows = Array.from({ length: 5_000 }, (_, at) => entry(`s${at % 150}`, at, 'ERROR', { workflowRunId: 'r2' }));
    const failed = { dlqId: 'd', workflowRunId: 'r2', workflowUrl, createdAt: NOW, labels: [] };
    const api = logOf(rows, [failed]);
    const { run } = await got<MessageDetail>(readingWorld(api), '/api/v1/messages/r2');
    expect(api.queries.length).toBeLessThanOrEqual(30);
    expect(run!.messages).toHaveLength(100);
    expect(run!.unknown.slice(1)).toEqual([
      'Not all messages of the run were read: it needs more than 30 requests.',
      '50 more messages of the run are left out.',
    ]);
  });

  test('an unknown id says where it was searched', async () => {
    const deps = readingWorld(logOf([]));
    expect(await refusal(deps, `/api/v1/messages/${encodeURIComponent(HOSTILE)}`)).toMatchObject({
      status: 404,
      code: 'unknown_id',
      message: `The id ${HOSTILE} is in no message log and is no failed workflow run (accounts: production).`,
    });
  });
});
