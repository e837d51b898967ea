/** Collectors that need one request, or one request per name. */
import { describe, expect, test } from 'vitest';
import type { MessageApi } from '#service/api.ts';
import { collectors } from '#observe/collectors/index.ts';
import { COLLECTOR_NAMES } from '#foundation/domain/observation.ts';
import { context, target } from './fake-context.ts';
import { answer, clientOf, FakeServiceError } from './fake-service.ts';

const stats = { latencyMean: {}, latencyP99: {}, throughput: {} };

describe('the table', () => {
  test('has every collector under its name', () => {
    expect(Object.keys(collectors).toSorted()).toEqual([...COLLECTOR_NAMES].toSorted());
    for (const name of COLLECTOR_NAMES) expect(collectors[name].name).toBe(name);
  });
});

describe('a collector is off', () => {
  const everything = { flowControlKeys: ['a'], searchIndexes: ['b'], vectorIndexes: ['c'] };

  test('never where all it needs is configured', () => {
    for (const name of COLLECTOR_NAMES) expect(collectors[name].off(target(everything))).toBeUndefined();
  });

  test('when it is switched off', () => {
    for (const name of COLLECTOR_NAMES) {
      const off = target({ ...everything, settings: { [name]: { enabled: false } } });
      expect(collectors[name].off(off)).toBe('disabled in the configuration');
    }
  });

  test('when its API is missing', () => {
    const bare = target({ ...everything, hasMessageApi: false, hasManagementApi: false });
    for (const name of COLLECTOR_NAMES) {
      expect(collectors[name].off(bare)).toBe(`the account has no ${collectors[name].api} API configured`);
    }
  });

  test('when there is nothing to read', () => {
    const undiscovered = target({ settings: { flowControl: { discover: 0 } } });
    expect(collectors.flowControl.off(undiscovered)).toBe('no flow-control keys configured, and none are discovered');
    expect(collectors.flowControl.off(target())).toBeUndefined();
    expect(collectors.searchIndexes.off(target())).toBe('no search indexes configured');
    expect(collectors.vectorStats.off(target())).toBe('no vector indexes configured');
    const { accountId: _accountId, ...anonymous } = target();
    expect(collectors.accountStats.off(anonymous)).toBe('no managementApi.accountId configured');
  });
});

describe('flow control', () => {
  const watched = target({ flowControlKeys: ['a', 'gone', 'b'] });
  const key = (flowControlKey: string) => answer({ flowControlKey, waitListSize: 1 }, 0);
  const read = (getFlowControl: MessageApi['getFlowControl'], more: { readonly signal?: AbortSignal } = {}) =>
    collectors.flowControl.collect(clientOf({ message: { getFlowControl } }), context({ target: watched, ...more }));
  const aborted = (signal: AbortSignal) => new Promise((resolve) => signal.addEventListener('abort', resolve));

  test('reads all keys at the same time', async () => {
    const asked: string[] = [];
    const all = Promise.withResolvers<void>();
    const { rows } = await read(async (name) => {
      asked.push(name);
      if (asked.length === 3) all.resolve();
      await all.promise;
      return key(name);
    });
    expect(rows.map(({ flowControlKey }) => flowControlKey)).toEqual(['a', 'gone', 'b']);
  });

  test('a key that does not exist is skipped and counted', async () => {
    const { rows, dropped } = await read(async (name) => {
      if (name === 'gone') throw new FakeServiceError('not_found');
      return key(name);
    });
    expect(rows.map(({ flowControlKey }) => flowControlKey)).toEqual(['a', 'b']);
    expect(dropped).toBe(1);
  });

  test('any other failure fails the batch, and ends the other reads first', async () => {
    const ended: string[] = [];
    const failed = read(async (name, { signal }) => {
      if (name === 'gone') throw new FakeServiceError('server_error');
      await aborted(signal);
      ended.push(name);
      throw signal.reason;
    });
    await expect(failed).rejects.toMatchObject({ code: 'server_error' });
    expect(ended).toEqual(['a', 'b']);
  });

  test('an abort ends all reads with its reason', async () => {
    const stop = new AbortController();
    const run = read(
      async (_name, { signal }) => {
        await aborted(signal);
        throw new FakeServiceError('aborted');
      },
      { signal: stop.signal },
    );
    const reason = new Error('enough');
    stop.abort(reason);
    await expect(run).rejects.toBe(reason);
  });
});

test('a name that the configuration repeats is read and shown once', async () => {
  const asked: string[] = [];
  const once = async <T>(id: string, value: T) => {
    asked.push(id);
    return answer(value);
  };
  const client = clientOf({
    message: { getFlowControl: (name) => once(name, { flowControlKey: name, waitListSize: 4 }) },
    management: {
      getIndex: (index) => once(index, { index, name: 'n', plan: 'payg', region: 'eu-west-1' }),
      getVectorStats: (index) => once(index, { index, vectors: 7, ...stats }),
    },
  });
  const watched = target({ flowControlKeys: ['k', 'k'], searchIndexes: ['i', 'i'], vectorIndexes: ['v', 'v'] });
  const reads = [
    await collectors.flowControl.collect(client, context({ target: watched })),
    await collectors.searchIndexes.collect(client, context({ target: watched })),
    await collectors.vectorStats.collect(client, context({ target: watched })),
  ];
  for (const { rows, dropped } of reads) expect({ rows: rows.length, dropped }).toEqual({ rows: 1, dropped: 0 });
  expect(asked).toEqual(['k', 'i', 'v']);
});

test('URL Groups are one response', async () => {
  const group = { name: 'g', endpoints: [{ url: 'https://a.example' }] };
  const client = clientOf({ message: { listUrlGroups: () => Promise.resolve(answer([group], 2)) } });
  expect(await collectors.urlGroups.collect(client, context())).toEqual({ rows: [group], dropped: 2 });
});

test('account statistics are those of the configured account and the last hour', async () => {
  const asked: unknown[] = [];
  const client = clientOf({
    management: {
      getAccountStats: (id, period) => {
        asked.push([id, period]);
        return Promise.resolve(answer({ dlqMessages: 3 }));
      },
    },
  });
  expect(await collectors.accountStats.collect(client, context())).toEqual({
    rows: [{ dlqMessages: 3, aggregated: [], spend: {} }],
    dropped: 0,
  });
  expect(asked).toEqual([['acc-1', '1h']]);
});

test('search indexes and vector statistics are read by their configured ids, and missing ones are skipped', async () => {
  const missing = (id: string): void => {
    if (id === 'gone') throw new FakeServiceError('not_found');
  };
  const client = clientOf({
    management: {
      getIndex: async (index) => {
        missing(index);
        return answer({ index, name: 'n', plan: 'payg', region: 'eu-west-1' });
      },
      getVectorStats: async (index, period) => {
        missing(index);
        return answer({ index, vectors: period === '1h' ? 7 : 0, ...stats });
      },
    },
  });
  const watched = target({ searchIndexes: ['i', 'gone'], vectorIndexes: ['gone', 'v'] });
  const indexes = await collectors.searchIndexes.collect(client, context({ target: watched }));
  expect(indexes).toEqual({ rows: [{ index: 'i', name: 'n', plan: 'payg', region: 'eu-west-1' }], dropped: 1 });
  const vectors = await collectors.vectorStats.collect(client, context({ target: watched }));
  expect(vectors).toEqual({ rows: [{ index: 'v', vectors: 7, ...stats }], dropped: 1 });
});
