/** The exchange of the daemon: its handed state, its fallback, and changes without an exchange. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Daemon, DaemonOptions, Handover } from '#app/options.ts';
import { runDaemon } from '#app/run.ts';
import { formatProblems, loadConfig } from '#config/load.ts';
import type { Config } from '#config/config.ts';
import { contentsOf } from '#config/contents.ts';
import type { ManualClock } from '#foundation/platform/manual-clock.ts';
import { authority } from '../support/certificates.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { terminal } from '../cli/terminal.ts';

const GOOD = `
server: { listen: "127.0.0.1:0" }
accounts: [{ name: production, url: "https://eu.msgsvc.example", token: abc }]
policies:
  - name: resume-billing
    account: production
    select: { resource: workflow-dlq, anyLabel: [billing] }
    action: { type: workflow-dlq.resume }
    mode: enforce
`;

/**
 * Daemons that behave as configured, in a row. Each records its events. The first one runs, and the program ends with
 * the test, without an error.
 */
async function world() {
  const path = join(tempDir(), 'opsd.yaml');
  const write = (text: string): void => writeFileSync(path, text);
  write(GOOD);
  const t = terminal();
  const happened: string[] = [];
  const given: { readonly config: Config; readonly options: DaemonOptions }[] = [];
  const told: string[] = [];
  /** Names of starts that fail. */
  const failing = new Set<number>();
  let rehearsal: () => Promise<void> = () => Promise.resolve();
  let security: () => boolean = () => false;
  let startsAnew = true;
  let problem: string | undefined;
  let hangup: () => void = () => undefined;
  const start = async (config: Config, options: DaemonOptions): Promise<Daemon> => {
    const number = given.push({ config, options });
    happened.push(`start ${number}`);
    if (failing.has(number)) throw new Error('the port is taken');
    const handed: Handover = { counts: new Map([[`of ${number}`, []]]), pauses: new Map(), late: [] };
    return {
      address: 'http://127.0.0.1:4711',
      hooks: undefined,
      probes: undefined,
      socketPath: 'opsd.sock',
      isReady: () => true,
      startsAnew: () => startsAnew,
      exchange: async (next, { onFailed }) => {
        happened.push(`exchange ${next.policies[0]!.settings.mode}`);
        if (problem !== undefined) onFailed(problem);
        return problem === undefined;
      },
      rehearse: () => rehearsal(),
      noteReload: (by) => void happened.push(`note ${by ?? 'good'}`),
      replaceSecurity: (next) => {
        happened.push(`security ${next.security.server?.users.size ?? 'none'}`);
        return security();
      },
      tell: ({ type }) => void told.push(type),
      handOver: () => handed,
      [Symbol.asyncDispose]: async () => void happened.push(`end ${number}`),
    };
  };
  const loaded = loadConfig(path, { env: {} });
  if (!loaded.ok) throw new Error('the configuration of the test is wrong');
  const onHangup = (listener: () => void): Disposable => {
    hangup = listener;
    return { [Symbol.dispose]: () => undefined };
  };
  let isOver = false;
  const ended = runDaemon({ config: loaded.config, path, onHangup }, t.io, start).finally(() => (isOver = true));
  const w = {
    path,
    write,
    happened,
    told,
    given,
    failing,
    ended,
    clock: t.io.clock as ManualClock,
    rehearse: (work: () => Promise<void>) => void (rehearsal = work),
    security: (take: () => boolean) => void (security = take),
    hangup: () => hangup(),
    /** Requests a reload of another configuration. */
    reload: (text: string): void => {
      write(text);
      hangup();
    },
    /** Sets whether the daemon can apply every change, or why not. */
    exchanges: (why?: string) => void ([startsAnew, problem] = [false, why]),
    /** Stops the program. @returns its last event */
    stop: async (): Promise<string | undefined> => {
      t.stop();
      expect(await ended).toBe(0);
      return happened.at(-1);
    },
    happens: (what: string) => until({ what }, () => happened.includes(what)),
    state: () => given.at(-1)!.options.reload!.state(),
  };
  onTestFinished(async () => {
    if (!isOver) await w.stop();
  });
  await w.happens('start 1');
  return w;
}

test('a valid one is rehearsed, the old daemon ends, and the new one gets the unwritten state', async () => {
  const w = await world();
  w.reload(GOOD.replace('enforce', 'audit'));
  await w.happens('note good');
  expect(w.happened).toEqual(['start 1', 'end 1', 'start 2', 'note good']);
  expect(w.given[1]).toMatchObject({
    config: { server: { listen: { host: '127.0.0.1', port: 4711 } }, policies: [{ settings: { mode: 'audit' } }] },
    options: { handed: { counts: new Map([['of 1', []]]) } },
  });
  expect(await w.stop()).toBe('end 2');
});

test('a daemon that can stay applies the configuration itself', async () => {
  const w = await world();
  w.exchanges();
  w.reload(GOOD.replace('enforce', 'audit'));
  await w.happens('note good');
  expect(w.happened).toEqual(['start 1', 'exchange audit', 'note good']);
  expect(w.state()).toMatchObject({ ok: true });
  expect(await w.stop()).toBe('end 1');
});

test('a configuration that the daemon cannot apply is a failed reload, and the next one is compared with the old one', async () => {
  const w = await world();
  w.exchanges('the port is taken');
  w.reload(GOOD.replace('enforce', 'off'));
  await w.happens('note good');
  expect(w.state()).toMatchObject({
    ok: false,
    auditOnly: true,
    problems: [expect.stringContaining('the daemon does not start with this configuration: the port is taken')],
  });
  w.reload(GOOD);
  await until({ what: 'it is good again' }, () => w.state().ok);
  expect(w.happened.filter((what) => what.startsWith('exchange'))).toEqual(['exchange off']);
});

test('one that does not start: the previous one is started again, and policies that may have changed only watch', async () => {
  const w = await world();
  w.failing.add(2);
  w.reload(GOOD.replace('enforce', 'off'));
  await w.happens('start 3');
  expect(w.given[2]!.config.policies[0]!.settings.mode).toBe('enforce');
  expect(w.state()).toMatchObject({
    ok: false,
    auditOnly: true,
    problems: [expect.stringContaining('the port is taken')],
  });
  expect(w.given[2]!.options.handed!.counts.has('of 1')).toBe(true);
});

test('where neither starts the program ends with the error', async () => {
  const w = await world();
  w.failing.add(2).add(3);
  w.reload(GOOD.replace('enforce', 'off'));
  await expect(w.ended).rejects.toThrow('the port is taken');
});

test('unavailable resources are detected before the present daemon is changed', async () => {
  const w = await world();
  w.rehearse(() => Promise.reject(new Error('the store is full')));
  w.reload(`${GOOD}log: { level: debug }\n`);
  await w.happens('note SIGHUP');
  expect(w.happened).toEqual(['start 1', 'note SIGHUP']);
  expect(w.state()).toMatchObject({ ok: false, auditOnly: false, problems: [`${w.path}: the store is full`] });
});

test('a further error besides one in the policies does not let them act again; a successful reload does', async () => {
  const w = await world();
  const times = (what: string): number => w.happened.filter((one) => one === what).length;
  w.reload(GOOD.replace('enforce', 'of'));
  await until({ what: 'it is refused' }, () => times('note SIGHUP') === 1);
  expect(w.state()).toMatchObject({ ok: false, auditOnly: true });
  w.reload(`${GOOD}log: { level: loud }\n`);
  await until({ what: 'it is refused again' }, () => times('note SIGHUP') === 2);
  expect(w.state()).toMatchObject({ ok: false, auditOnly: true });
  w.reload(GOOD);
  await w.happens('note good');
  expect(w.state()).toMatchObject({ ok: true, auditOnly: false });
  expect(times('end 1')).toBe(0);
});

test('a request during the rehearsal gets a response before the exchange, and another reload after it', async () => {
  const w = await world();
  const { promise, resolve } = Promise.withResolvers<void>();
  let tried = 0;
  w.rehearse(() => (tried++, promise));
  w.write(GOOD.replace('enforce', 'audit'));
  const { reload } = w.given[0]!.options;
  const asked = [reload!.request('one'), reload!.request('two')];
  await until({ what: 'it is tried' }, () => tried === 1);
  w.write(GOOD.replace('enforce', 'approve'));
  asked.push(reload!.request('late').finally(() => w.happened.push('late is answered')));
  resolve();
  for (const answer of asked) expect(await answer).toMatchObject({ ok: true, changed: true });
  await w.happens('start 3');
  expect(w.given.map(({ config }) => config.policies[0]!.settings.mode)).toEqual(['enforce', 'audit', 'approve']);
  // Its connection is to the daemon that ends.
  expect(w.happened.indexOf('late is answered')).toBeLessThan(w.happened.indexOf('start 2'));
});

test('a file is loaded once it has not changed for a second, and is not loaded twice', async () => {
  const w = await world();
  await w.clock.advance(5_000);
  w.write(GOOD.slice(0, 60));
  await w.clock.advance(5_000);
  w.write(GOOD.replace('enforce', 'audit'));
  await w.clock.advance(1_000);
  expect(w.happened).toEqual(['start 1']);
  await w.clock.advance(1_000);
  await w.happens('start 2');
  await w.happens('note good');
  await w.clock.advance(60_000);
  await w.stop();
  expect(w.happened).toEqual(['start 1', 'end 1', 'start 2', 'note good', 'end 2']);
});

test('a secret that arrives later than the configuration that names it makes that one valid', async () => {
  const w = await world();
  w.write(GOOD.replace('token: abc', 'tokenFile: token'));
  await w.clock.advance(6_000);
  await w.happens('note the files changed');
  expect(w.state()).toMatchObject({ ok: false, auditOnly: true });
  await w.clock.advance(60_000);
  expect(w.happened).toEqual(['start 1', 'note the files changed']);
  // A complete configuration may still be rejected: that is tried once.
  w.rehearse(() => Promise.reject(new Error('the store is full')));
  writeFileSync(join(dirname(w.path), 'token'), 'abc');
  await w.clock.advance(5_000);
  await until({ what: 'it is refused' }, () => w.happened.length === 3);
  await w.clock.advance(60_000);
  expect(w.happened).toHaveLength(3);
  w.rehearse(() => Promise.resolve());
  rmSync(join(dirname(w.path), 'token'));
  w.hangup();
  await w.happens('note SIGHUP');
  writeFileSync(join(dirname(w.path), 'token'), 'abc');
  await w.clock.advance(5_000);
  await w.happens('note good');
  expect(w.happened).toContain('start 2');
  expect(w.state()).toMatchObject({ ok: true, auditOnly: false });
});

const HASH = '$2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG';

describe('a changed web configuration file', () => {
  /** A daemon whose users are in a separate file. */
  async function withUsers() {
    const w = await world();
    const users = (...names: string[]): void => {
      const entries = names.map((name) => `${name}: ${HASH}`).join(', ');
      writeFileSync(join(dirname(w.path), 'web.yaml'), `basic_auth_users: { ${entries} }\n`);
    };
    users('alice');
    w.reload(GOOD.replace('server: {', 'server: { webConfigFile: web.yaml,'));
    await w.happens('note good');
    return { w, users };
  }

  test('is applied and reported by the running daemon', async () => {
    const { w, users } = await withUsers();
    users('alice', 'bob');
    w.security(() => true);
    w.hangup();
    await w.happens('security 2');
    await until({ what: 'it was good' }, () => w.happened.at(-1) === 'note good');
    expect(w.state().ok).toBe(true);
    expect(w.told).toEqual(['config.reloaded']);
    expect(w.happened.filter((what) => what.startsWith('start'))).toHaveLength(2);
  });

  test('that cannot be applied is a failed reload that concerns no policy', async () => {
    const { w, users } = await withUsers();
    users('alice', 'bob');
    w.security(() => {
      throw new Error('it does not fit');
    });
    w.hangup();
    await w.happens('note SIGHUP');
    expect(w.state()).toMatchObject({
      ok: false,
      auditOnly: false,
      problems: [expect.stringContaining('it does not fit')],
    });
  });

  test('that is invalid never reaches the daemon; policies continue', async () => {
    const { w } = await withUsers();
    writeFileSync(join(dirname(w.path), 'web.yaml'), 'basic_auth_users: { alice: no-hash }\n');
    w.hangup();
    await w.happens('note SIGHUP');
    expect(w.happened.filter((what) => what.startsWith('security'))).toEqual([]);
    expect(w.state()).toMatchObject({
      ok: false,
      auditOnly: false,
      problems: [expect.stringContaining('web.yaml:1:28')],
    });
  });
});

test('a change of only the name of the replica restarts the daemon', async () => {
  const w = await world();
  const named = (name: string) => `${GOOD}storage: { postgres: { url: "postgres://db/opsd", replica: ${name} } }\n`;
  w.reload(named('one'));
  await w.happens('start 2');
  w.reload(named('two'));
  await w.happens('start 3');
  expect(w.given[2]!.config.storage.postgres?.replica).toBe('two');
  expect(w.given[2]!.config.hash).toBe(w.given[1]!.config.hash);
});

test('the hash of the configuration covers the content of the files, so that no change is missed in between', () => {
  const folder = tempDir();
  const path = join(folder, 'opsd.yaml');
  writeFileSync(path, GOOD.replace('policies:', 'policyFiles: ["p*.yaml"]\npolicies:'));
  writeFileSync(join(folder, 'p1.yaml'), '\uFEFFpolicies: []\n');
  const loaded = loadConfig(path, { env: {} });
  const contents = contentsOf(path, {});
  expect(loaded).toMatchObject({ ok: true, config: { hash: contents() } });
  const before = contents();
  writeFileSync(join(folder, 'p2.yaml'), 'policies: []\n');
  expect(contents()).not.toBe(before);
});

test('certificates and users are identified by their content, and are not part of the configuration itself', async () => {
  const folder = tempDir();
  const put = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  const ca = await authority();
  const [pair, next] = [await ca.issue(), await ca.issue()];
  const path = join(folder, 'opsd.yaml');
  const hooks = 'hooks: { listen: ":0", webConfigFile: hooks.yaml, alertmanager: { a: { token: t } } }\n';
  put('opsd.yaml', `${hooks}${GOOD.replace('server: {', 'server: { webConfigFile: web/web.yaml,')}`);
  mkdirSync(join(folder, 'web'));
  const users = `basic_auth_users: { alice: ${HASH} }\n`;
  put('web/web.yaml', `${users}tls_server_config: { cert_file: c, key_file: k }\n`);
  put('hooks.yaml', 'rate_limit: { interval: 1s, burst: 9 }\n');
  put('web/c', pair.cert);
  put('web/k', pair.key);
  const contents = contentsOf(path, {});
  const load = () => {
    const loaded = loadConfig(path, { env: {} });
    if (!loaded.ok) throw new Error(formatProblems(loaded.problems));
    expect(loaded.config.contents).toBe(contents());
    return loaded.config;
  };
  const seen = [load()];
  put('web/c', next.cert);
  const torn = contents();
  put('web/k', next.key);
  seen.push(load());
  put('hooks.yaml', 'rate_limit: { interval: 1s, burst: 8 }\n');
  seen.push(load());
  expect(new Set([...seen.map((config) => config.contents), torn]).size).toBe(4);
  expect(new Set(seen.map(({ hash }) => hash)).size).toBe(1);
  // Without TLS it is another listener.
  put('web/web.yaml', users);
  expect(load().hash).not.toBe(seen[0]!.hash);
});
