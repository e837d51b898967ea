/** Alerts and callbacks over real HTTP: accepted content, triggered runs, and their number. */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Secret } from '#foundation/platform/secret.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { alert, AM_TOKEN, failureCallback, hookWorld, notification, NOW } from './hook-world.ts';

const KEY = 'opsd/c59e0211b0c52ba1/2026-11-18T10:00:00.123Z';

describe('alerts', () => {
  test('are stored, and trigger the policies that name them', async () => {
    const { notify, alerts, runs, said } = await hookWorld();
    const answer = await notify(notification(alert()));
    expect(answer).toMatchObject({ status: 202, text: 'stored\n' });
    expect(alerts).toEqual([
      { receiver: 'opsd', name: 'BillingDown', key: KEY, accounts: ['production'], isFiring: true, at: NOW },
    ]);
    expect(runs).toEqual([`on-billing alert ${KEY}`]);
    expect(said).toContainEqual({
      type: 'policy.triggered',
      policy: 'on-billing',
      account: 'production',
      trigger: { kind: 'alert', name: 'BillingDown', key: KEY },
    });
  });

  test('trigger once: repeats and the end are recorded only', async () => {
    const { notify, alerts, runs } = await hookWorld();
    await notify(notification(alert()));
    await notify(notification(alert()));
    await notify(notification(alert({ status: 'resolved', endsAt: '2026-11-18T10:20:00Z' })));
    await notify(notification(alert()));
    expect(runs).toHaveLength(1);
    expect(alerts.map(({ isFiring }) => isFiring)).toEqual([true, true, false, true]);
  });

  test('that begin again trigger again, and so do others of the same name', async () => {
    const { notify, runs } = await hookWorld();
    await notify(notification(alert()));
    await notify(notification(alert({ startsAt: '2026-11-18T10:10:00Z' })));
    await notify(notification(alert({ fingerprint: 'ffff' })));
    expect(runs).toHaveLength(3);
  });

  test('whose end comes first trigger nothing', async () => {
    const { notify, runs, alerts } = await hookWorld();
    await notify(notification(alert({ status: 'resolved' })));
    expect(runs).toEqual([]);
    expect(alerts).toHaveLength(1);
  });

  test('that two Alertmanagers report in different forms are one', async () => {
    const { notify, runs } = await hookWorld();
    await notify(notification(alert({ startsAt: '2026-11-18T10:00:00.123Z' })));
    await notify(notification(alert({ startsAt: '2026-11-18T11:00:00.123+01:00' })));
    expect(runs).toHaveLength(1);
  });

  test('of one notification run a policy once, and all of them are known', async () => {
    const { notify, runs, triggers } = await hookWorld();
    const many = Array.from({ length: 50 }, (_, index) => alert({ fingerprint: `f${index}` }));
    expect((await notify(notification(...many))).status).toBe(202);
    expect(runs).toEqual(['on-billing alert opsd/f0/2026-11-18T10:00:00.123Z']);
    expect(triggers.size).toBe(50);
  });

  describe('concern the account of their label', () => {
    const both = [
      { name: 'of-production', account: 'production', when: { alert: 'BillingDown' } },
      { name: 'of-staging', account: 'staging', when: { every: 60_000, alert: 'BillingDown' } },
    ];
    const labeled = (account: string | undefined, fingerprint: string) =>
      alert({ fingerprint, labels: { alertname: 'BillingDown', ...(account !== undefined && { account }) } });

    test('and trigger the policies of that account alone', async () => {
      const { notify, runs, alerts } = await hookWorld({ policies: both });
      await notify(notification(labeled('staging', 'a')));
      expect(runs).toEqual(['of-staging alert opsd/a/2026-11-18T10:00:00.123Z']);
      expect(alerts).toMatchObject([{ accounts: ['staging'] }]);
    });

    test('each in a notification about several accounts', async () => {
      const { notify, runs } = await hookWorld({ policies: both });
      const rows = [labeled('staging', 'a'), labeled('test', 'b'), labeled('production', 'c'), labeled('staging', 'd')];
      await notify({ ...notification(...rows), commonLabels: { alertname: 'BillingDown', account: 'production' } });
      expect(runs).toEqual([
        'of-staging alert opsd/a/2026-11-18T10:00:00.123Z',
        'of-production alert opsd/c/2026-11-18T10:00:00.123Z',
      ]);
    });

    test.each([[undefined], ['']])('and without one (%j) trigger nothing, which the log says once', async (account) => {
      const { notify, runs, alerts, log } = await hookWorld({ policies: both });
      await notify(notification(labeled(account, 'a')));
      await notify(notification(labeled(account, 'a')));
      expect(runs).toEqual([]);
      expect(alerts[0]).not.toHaveProperty('accounts');
      expect(log.filter((line) => line.includes('alert without account'))).toHaveLength(1);
      expect(log.join('')).toContain('hooks.alertmanager.opsd.withoutAccount');
    });

    test('and without one the accounts that the configuration names', async () => {
      const { notify, runs, alerts } = await hookWorld({ policies: both, withoutAccount: ['staging'] });
      await notify(notification(labeled(undefined, 'a'), labeled('production', 'b')));
      expect(runs).toEqual([
        'of-staging alert opsd/a/2026-11-18T10:00:00.123Z',
        'of-production alert opsd/b/2026-11-18T10:00:00.123Z',
      ]);
      expect(alerts.map(({ accounts }) => accounts)).toEqual([['staging'], ['production']]);
    });
  });

  test('that are invalid are dropped and counted; the others count', async () => {
    const { notify, alerts, said } = await hookWorld();
    const bad = [alert({ fingerprint: 7 }), alert({ startsAt: 'soon' }), alert({ labels: {} }), 'x', null];
    expect((await notify({ ...notification(), alerts: [...bad, alert()] })).status).toBe(202);
    expect(alerts).toHaveLength(1);
    expect(said).toContainEqual({ type: 'alerts.received', receiver: 'opsd', firing: 1, resolved: 0, dropped: 5 });
  });

  test('that cannot be stored are requested again, and trigger then', async () => {
    const { notify, store, runs, log } = await hookWorld();
    store.isBroken = true;
    const answer = await notify(notification(alert()));
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '10' } });
    expect(runs).toEqual([]);
    expect(log.join('')).toContain('disk full');
    expect(answer.text).not.toContain('disk full');
    store.isBroken = false;
    expect((await notify(notification(alert()))).status).toBe(202);
    expect(runs).toHaveLength(1);
  });

  test('of an empty notification are valid', async () => {
    const { notify } = await hookWorld();
    expect((await notify(notification())).status).toBe(202);
  });
});

describe('callbacks', () => {
  test('that a message failed permanently add a dead letter, without bodies, headers, or secrets of its URL', async () => {
    const { callback, deadLetters } = await hookWorld();
    expect(await callback(failureCallback())).toMatchObject({ status: 202, text: 'stored\n' });
    expect(deadLetters).toEqual([
      {
        account: 'production',
        dlqId: 'dlq-1',
        messageId: 'msg-1',
        learnedAt: NOW,
        createdAt: NOW - 60_000,
        url: 'https://app.example.com/orders',
        topicName: 'newsletter',
        retried: 3,
        status: 503,
        labels: ['billing', 'email'],
      },
    ]);
  });

  test('are answered after the store has them, and not before', async () => {
    const { callback, store, deadLetters, said } = await hookWorld();
    const { promise, resolve } = Promise.withResolvers<void>();
    store.until = promise;
    const answer = callback(failureCallback());
    await expect.poll(() => store.asked).toBe(1);
    await new Promise(setImmediate);
    expect(said.filter(({ type }) => type === 'hook.answered')).toEqual([]);
    resolve();
    expect((await answer).status).toBe(202);
    expect(deadLetters).toHaveLength(1);
  });

  test('that are stored while the hooks end start no run later', async () => {
    const { callback, store, server, clock, triggers, runs } = await hookWorld();
    const { promise, resolve } = Promise.withResolvers<void>();
    store.until = promise;
    const answer = callback(failureCallback());
    await expect.poll(() => store.asked).toBe(1);
    const closed = server.close();
    resolve();
    expect((await answer).status).toBe(202);
    await clock.advance(60_000);
    await closed;
    expect([...triggers]).toHaveLength(1);
    expect(runs).toEqual([]);
  });

  test('with invalid details keep the valid ones', async () => {
    const { callback, deadLetters } = await hookWorld();
    const odd = { status: 0, retried: -1, url: 'nowhere', topicName: 7, createdAt: '12', sourceHeader: [] };
    expect((await callback(failureCallback(odd), { 'Opsd-Label': 'newsletter,,billing' })).status).toBe(202);
    expect(deadLetters).toEqual([
      { account: 'production', dlqId: 'dlq-1', messageId: 'msg-1', learnedAt: NOW, labels: ['newsletter', 'billing'] },
    ]);
  });

  test('about a canary are counted, and are no dead letter', async () => {
    const { callback, deadLetters, clock, runs } = await hookWorld();
    const sourceHeader = { 'Svc-Label': 'billing,opsd-canary' };
    expect((await callback(failureCallback({ sourceHeader }))).status).toBe(202);
    await clock.advance(60_000);
    expect({ deadLetters, runs }).toEqual({ deadLetters: [], runs: [] });
  });

  test('that are not failure callbacks are only counted', async () => {
    const { callback, deadLetters, clock, runs, said } = await hookWorld();
    expect((await callback(failureCallback({ dlqId: undefined, status: 200 }))).status).toBe(202);
    await clock.advance(60_000);
    expect({ deadLetters, runs }).toEqual({ deadLetters: [], runs: [] });
    expect(said).toContainEqual({
      type: 'callback.received',
      account: 'production',
      kind: 'callback',
      codeClass: '2xx',
    });
  });

  test('run the waiting policies of the account, once per storm', async () => {
    const { callback, clock, runs, deadLetters } = await hookWorld();
    for (let n = 0; n < 20; n++) await callback(failureCallback({ dlqId: `dlq-${n}` }));
    expect(runs).toEqual([]);
    await clock.advance(10_000);
    expect(runs).toEqual(['on-dead-letters callback production/dlq-0']);
    expect(deadLetters).toHaveLength(20);
    await callback(failureCallback({ dlqId: 'dlq-20' }));
    await clock.advance(10_000);
    expect(runs).toHaveLength(2);
  });

  test('that are sent again run nothing again', async () => {
    const { callback, clock, runs, deadLetters } = await hookWorld();
    await callback(failureCallback());
    await clock.advance(10_000);
    await callback(failureCallback());
    await clock.advance(10_000);
    expect(runs).toHaveLength(1);
    expect(deadLetters).toHaveLength(2);
  });

  test('run nothing after the stop', async () => {
    const { callback, clock, runs, server } = await hookWorld();
    await callback(failureCallback());
    await server.close();
    await clock.advance(10_000);
    expect(runs).toEqual([]);
  });

  test('that cannot be stored are requested again', async () => {
    const { callback, store, deadLetters } = await hookWorld();
    store.isBroken = true;
    expect((await callback(failureCallback())).status).toBe(503);
    store.isBroken = false;
    expect((await callback(failureCallback())).status).toBe(202);
    expect(deadLetters).toHaveLength(1);
  });
});

describe('a token', () => {
  test('is read again when its file changes, and both are accepted during the change', async () => {
    const file = join(tempDir(), 'am');
    writeFileSync(file, `${AM_TOKEN}\n`);
    const { notify } = await hookWorld({ amToken: Secret.fromFile(file) });
    const replace = (text: string): void => {
      writeFileSync(`${file}.new`, text);
      renameSync(`${file}.new`, file);
    };
    const statuses = async () => [
      (await notify(notification(), AM_TOKEN)).status,
      (await notify(notification(), 'another-token')).status,
    ];
    expect(await statuses()).toEqual([202, 401]);
    replace(`${AM_TOKEN}\nanother-token\n`);
    expect(await statuses()).toEqual([202, 202]);
    replace('another-token');
    expect(await statuses()).toEqual([401, 202]);
  });

  test('whose file is missing admits no caller, and the caller retries', async () => {
    const { notify, log } = await hookWorld({ amToken: Secret.fromFile(join(tempDir(), 'am')) });
    expect((await notify(notification(alert()))).status).toBe(503);
    expect(log.join('')).toContain('ENOENT');
  });
});
