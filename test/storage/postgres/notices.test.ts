/** Notices between replicas over LISTEN and NOTIFY. PGlite has one session, so it delivers none. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { Secret } from '#foundation/platform/secret.ts';
import { run } from '#storage/database.ts';
import { noticeConnections } from '#storage/postgres/connections.ts';
import { notify, Notices, type Notice } from '#storage/postgres/notices.ts';
import { cuttingProxy } from '../../support/postgres/cutting-proxy.ts';
import { SERVERS } from '../../support/postgres/servers.ts';
import { emptyDatabase, opened } from '../../support/postgres/test-databases.ts';
import { until } from '../../support/until.ts';

const CHECK_MS = 10_000;

async function world() {
  const url = await emptyDatabase('PostgreSQL');
  const proxy = await cuttingProxy(url);
  const clock = new ManualClock(0);
  const notices = new Notices(
    noticeConnections({ url: Secret.of(proxy.url), name: 'test notices', timeoutMs: 5_000 }),
    clock,
  );
  onTestFinished(() => notices[Symbol.dispose]());
  const heard: (Notice | 'anything')[] = [];
  notices.listen((notice) => void heard.push(notice ?? 'anything'));
  /** Lets time pass until it is connected, and has looked at everything again. */
  const reconnected = async (): Promise<void> => {
    await until({ what: 'it is connected again' }, async () => {
      await clock.advance(1_000);
      return notices.problem === undefined;
    });
  };
  return { reconnected, database: opened(url), proxy, clock, notices, heard };
}

describe.each(SERVERS.filter((name) => name === 'PostgreSQL'))('%s', () => {
  test('a notice arrives after its transaction has committed, and not if that fails', async () => {
    const { database, notices, heard, reconnected } = await world();
    await notices.start();
    await reconnected();
    expect(heard).toEqual(['anything']);
    const failed = database.transaction(
      (function* () {
        yield* notify('commands', 'lost');
        yield* run('SELECT 1 / 0');
      })(),
    );
    await expect(failed).rejects.toThrow('division by zero');
    await database.transaction(notify('commands', 'an account'));
    await until({ what: 'the notice arrives' }, () => heard.length > 1);
    expect(heard.slice(1)).toEqual([{ topic: 'commands', key: 'an account' }]);
  });

  test('after a loss of the connection, everything is looked at again', async () => {
    const { database, proxy, notices, heard, reconnected } = await world();
    proxy.cut('LISTEN', 'before');
    await notices.start();
    expect([notices.problem, heard]).toEqual([expect.any(String), []]);
    await reconnected();
    expect(heard).toEqual(['anything']);
    await database.transaction(
      run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'test notices'`),
    );
    await until({ what: 'the loss is noticed' }, () => notices.problem !== undefined);
    await reconnected();
    expect(heard).toEqual(['anything', 'anything']);
  });

  test('a connection can be replaced before it is known to be dead', async () => {
    const { database, proxy, notices, heard, reconnected } = await world();
    await notices.start();
    await reconnected();
    proxy.isSilent = true;
    notices.renew();
    proxy.isSilent = false;
    await reconnected();
    await database.transaction(notify('ledger', '7'));
    await until({ what: 'a notice arrives' }, () => heard.length > 2);
    expect(heard.at(-1)).toEqual({ topic: 'ledger', key: '7' });
  });

  test('a half-open connection is replaced', async () => {
    const { database, proxy, clock, notices, heard, reconnected } = await world();
    await notices.start();
    await reconnected();
    proxy.isSilent = true;
    await clock.advance(CHECK_MS);
    await until({ what: 'the silence is noticed' }, () => notices.problem !== undefined);
    expect(heard).toEqual(['anything']);
    proxy.isSilent = false;
    await reconnected();
    await database.transaction(notify('ledger', '7'));
    await until({ what: 'a notice arrives' }, () => heard.length > 2);
    expect(heard).toEqual(['anything', 'anything', { topic: 'ledger', key: '7' }]);
  });
});
