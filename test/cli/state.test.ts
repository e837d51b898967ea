/** `opsd audit` and `opsd state` over a real store, with and without a daemon's server. */
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import type { Ledger } from '#automate/ledger/ledger.ts';
import type { StateCommands } from '#operate/api/api-deps.ts';
import { auditPathOf, segmentPathOf } from '#automate/ledger/audit-reader.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { openAuditLog, type AuditFile } from '#storage/audit-file.ts';
import { backupStore } from '#storage/backup.ts';
import { openLedger } from '#storage/sqlite-ledger.ts';
import { openStore, type Store } from '#storage/sqlite.ts';
import { serving, world } from '../operate/http/world.ts';
import { intentFor } from '../support/ledger-facts.ts';
import { tempDir } from '../support/temp-dir.ts';
import { opsd } from './terminal.ts';

const NOW = Date.UTC(2026, 10, 18, 10, 0, 0);

interface Installed {
  readonly folder: string;
  readonly path: string;
  readonly auditPath: string;
  /** Arguments that name its configuration. */
  readonly args: readonly string[];
  readonly open: () => Promise<{ store: Store; audit: AuditFile; ledger: Ledger }>;
  readonly close: () => void;
  /** The daemon's server on its socket. */
  readonly serve: () => Promise<void>;
}

function installed(): Installed {
  const folder = tempDir();
  const path = join(folder, 'opsd.db');
  const config = join(folder, 'config.yaml');
  writeFileSync(
    config,
    `accounts: [{ name: production, url: "https://eu.msgsvc.example", token: t }]\nstorage: { sqlite: { path: ${path} } }\n`,
  );
  let opened: { store: Store; audit: AuditFile; ledger: Ledger } | undefined;
  const close = (): void => {
    opened?.audit[Symbol.dispose]();
    opened?.store[Symbol.dispose]();
    opened = undefined;
  };
  onTestFinished(close);
  const open: Installed['open'] = async () => {
    const store = openStore(path);
    const audit = openAuditLog(store, new ManualClock(NOW));
    return (opened = { store, audit, ledger: await openLedger(store, audit) });
  };
  return {
    folder,
    path,
    auditPath: auditPathOf(path),
    args: ['--config', config],
    open,
    close,
    async serve() {
      const { store, audit, ledger } = await open();
      const state = {
        auditHead: async () => audit.head(),
        backup: (file: string) => backupStore(store, file),
        adopt: async (reason: string) => {
          const because = ledger.mustBeAdopted;
          await ledger.adopt({ at: NOW, by: 'opsd state adopt', reason });
          return because;
        },
        resetCounters: async ({ metric, labels, reason }: Parameters<StateCommands['resetCounters']>[0]) =>
          metric === 'msgsvc_account_messages_total' ? [{ labels: { series: reason, ...labels }, value: 2 ** 64 }] : [],
      };
      await serving(world({ state }), { socketPath: `${path}.sock` });
    },
  };
}

describe('opsd audit', () => {
  test('shows records by policy, by the items that they name and by age', async () => {
    const { open, args } = installed();
    const { ledger } = await open();
    await intentFor(ledger, 'dlq-1');
    await intentFor(ledger, 'dlq-2', { policy: 'another' });
    const { code, stdout } = await opsd(['audit', ...args]);
    expect(code).toBe(0);
    expect(stdout.split('\n')[0]).toMatch(/^RECORD +TIME +TYPE +WHAT$/);
    expect(stdout).toMatch(
      /^3 +2026-11-18T10:00:00.000Z +intent +resume-billing sends workflow-dlq\.resume for dlq-1, attempt 1$/m,
    );
    const types = async (...more: string[]): Promise<string[]> => {
      const shown = await opsd(['audit', ...args, '-o', 'json', ...more]);
      return (JSON.parse(shown.stdout) as { records: { type: string; sequence: number }[] }).records.map(
        ({ type, sequence }) => `${sequence} ${type}`,
      );
    };
    expect(await types('--policy', 'another')).toEqual(['5 intent']);
    expect(await types('--id', 'dlq-1')).toEqual(['3 intent']);
    expect(await types('--id', 'wfr_dlq-2')).toEqual(['5 intent']);
    expect(await types('--since', '2h')).toHaveLength(5);
    expect(await types('--since', '10m')).toEqual([]);
    expect(await types('--since', '2026-11-18T10:00:00Z')).toHaveLength(5);
    const yaml = await opsd(['audit', ...args, '-o', 'yaml', '--id', 'dlq-2']);
    expect((parse(yaml.stdout) as { records: unknown[] }).records).toHaveLength(1);
  });

  test('exports the lines as they are in the file', async () => {
    const { open, args, auditPath } = installed();
    await intentFor((await open()).ledger, 'dlq-1');
    expect((await opsd(['audit', ...args, '-o', 'jsonl'])).stdout).toBe(readFileSync(auditPath, 'utf8'));
  });

  test('a named socket selects the log, whatever configuration exists', async () => {
    const [named, another] = [installed(), installed()];
    await intentFor((await named.open()).ledger, 'dlq-named');
    await intentFor((await another.open()).ledger, 'dlq-another');
    const env = { OPSD_CONFIG: another.args[1]! };
    const shown = await opsd(['audit', '--socket', `${named.path}.sock`], { env });
    expect(shown).toMatchObject({ code: 0, stderr: '' });
    expect(shown.stdout).toContain('resume-billing sends workflow-dlq.resume for dlq-named');
    expect(shown.stdout).not.toContain('dlq-another');
    named.close();
    await named.serve();
    const verified = await opsd(['audit', 'verify', '--socket', `${named.path}.sock`], { env });
    expect(verified).toMatchObject({ code: 0, stderr: '' });
    expect(verified.stdout).toContain(`${named.auditPath} is intact`);
    expect(verified.stdout).toContain('the head of the running daemon');
    expect(await opsd(['audit', '--socket', '/run/forwarded'], { env })).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('its store is unknown; add --config or --file') as string,
    });
  });

  test('reads the log of a configuration that has become invalid, and names the problem', async () => {
    const { open, close, args, path } = installed();
    await intentFor((await open()).ledger, 'dlq-1');
    close();
    const config = args[1]!;
    writeFileSync(config, `acounts: []\nstorage: { sqlite: { path: ${path} } }\n`);
    for (const command of [['audit'], ['audit', 'verify']]) {
      const { code, stdout, stderr } = await opsd([...command, ...args]);
      expect(stderr).toContain(`${config}:1:1:`);
      expect(stderr).toContain(`This configuration is invalid; reading the audit log of ${path} anyway.`);
      expect([code, stdout]).toEqual([0, expect.stringMatching(/ for dlq-1,|is intact/)]);
    }
    for (const command of [['audit'], ['audit', 'verify'], ['trace', 'show', 'msg_1'], ['trace', 'id', 'msg_1']]) {
      const missing = await opsd([...command, '--config', `${config}.typo`]);
      expect(missing).toMatchObject({ code: 1, stdout: '' });
      expect(missing.stderr).toContain(`${config}.typo:1:1: the file does not exist`);
    }
    const traced = await opsd(['trace', 'show', 'msg_1', ...args]);
    expect(traced).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(`${config}:1:1:`) as string });
  });

  test('a log that does not exist is reported', async () => {
    const result = await opsd(['audit', ...installed().args]);
    expect(result).toMatchObject({ code: 1, stdout: '' });
    expect(result.stderr).toContain('cannot be read (ENOENT): the daemon creates it at its start');
  });
});

describe('opsd audit verify', () => {
  test('reads all segments, as opsd audit does, and continues from moved segments', async () => {
    const { open, close, args, auditPath } = installed();
    const { ledger, audit } = await open();
    await intentFor(ledger, 'dlq-1');
    const head = `${audit.head()!.sequence}:${audit.head()!.hash}`;
    close();
    const segment = segmentPathOf(auditPath, audit.head()!.sequence);
    renameSync(auditPath, segment);
    await intentFor((await open()).ledger, 'dlq-2');
    close();
    const targets = (await opsd(['audit', ...args])).stdout.match(/(?<= for )dlq-\d/g);
    expect(targets).toEqual(['dlq-1', 'dlq-2']);
    expect(await opsd(['audit', 'verify', ...args])).toMatchObject({ code: 0, stderr: '' });
    rmSync(segment);
    const cut = await opsd(['audit', 'verify', ...args]);
    expect(cut.stdout).toContain(`${auditPath}:1: the log begins with record`);
    expect(cut.code).toBe(3);
    expect(await opsd(['audit', 'verify', '--after', head, ...args])).toMatchObject({ code: 0, stderr: '' });
    expect((await opsd(['audit', 'verify', '--after', '12', ...args])).stderr).toContain(
      '--after must be the number of a record and its hash',
    );
  });

  test('compares the file with the running daemon, else with the store, else with a given head', async () => {
    const { open, close, serve, args, path, auditPath } = installed();
    await intentFor((await open()).ledger, 'dlq-1');
    close();
    const offline = await opsd(['audit', 'verify', ...args]);
    expect(offline.stdout).toMatch(
      /is intact: 3 records, head 3:[0-9a-f]{64}\n.*the head in the store \(no daemon responds at \S+\.sock\)/,
    );
    expect(offline.code).toBe(0);
    await serve();
    const online = await opsd(['audit', 'verify', ...args]);
    expect(online.stdout).toMatch(/is intact: 4 records.*\n.*the head of the running daemon/);
    const head = /head (\S+)/.exec(offline.stdout)![1]!;
    const another = installed();
    await intentFor((await another.open()).ledger, 'dlq-1');
    another.close();
    const wrong = await opsd(['audit', 'verify', ...another.args, '--socket', `${path}.sock`]);
    expect(wrong.stdout).toMatch(
      /cut off\n3 records .*\nThe known record is the head of the running daemon at \S+\.sock, which must use the same/,
    );
    const given = await opsd(['audit', 'verify', '--file', auditPath, '--head', head]);
    expect(given).toMatchObject({ code: 0, stdout: expect.stringContaining('with --head') as string });
  });

  test('names the first bad line, and ends with 3', async () => {
    const { open, close, args, auditPath } = installed();
    await intentFor((await open()).ledger, 'dlq-1');
    close();
    const text = readFileSync(auditPath, 'utf8');
    writeFileSync(auditPath, text.replace('"target":"dlq-1"', '"target":"dlq-7"'));
    const changed = await opsd(['audit', 'verify', ...args]);
    expect(changed).toMatchObject({ code: 3, stderr: '' });
    expect(changed.stdout).toContain(`${auditPath}:3: record 3 was changed`);
    rmSync(auditPath);
    const missing = await opsd(['audit', 'verify', ...args]);
    expect(missing).toMatchObject({ code: 3, stderr: '' });
    expect(missing.stdout).toContain(
      'is missing. It had 3 records according to the head in the store (no daemon responds at ',
    );
    writeFileSync(auditPath, text.split('\n').slice(0, 2).join('\n') + '\n');
    const cut = await opsd(['audit', 'verify', ...args]);
    expect(cut.code).toBe(3);
    expect(cut.stdout).toContain(
      `${auditPath}:3: the log ends with record 2, but record 3 existed: the end of the log was cut off`,
    );
  });
});

describe('opsd state', () => {
  test('copies a store in use, restores the copy, and acts once it is adopted', async () => {
    const { open, close, serve, args, folder, path } = installed();
    const copy = join(folder, 'copy.db');
    await serve();
    const backup = await opsd(['state', 'backup', copy, ...args]);
    expect(backup.stdout).toMatch(/copy\.db: [\d,]+ bytes\.\n$/);
    expect(statSync(copy).mode & 0o777).toBe(0o600);
    const again = await opsd(['state', 'backup', copy, ...args]);
    expect(again.stderr).toContain('already exists: choose another file');
    expect(again.code).toBe(1);

    const running = await opsd(['state', 'restore', copy, ...args]);
    expect(running).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('another process uses this store') as string,
    });
    close();
    const restored = await opsd(['state', 'restore', copy, ...args]);
    expect(restored.code).toBe(0);
    expect(restored.stdout).toContain(`The previous store is ${path}.before-restore-20261118T103000Z.`);
    expect(existsSync(`${path}.before-restore-20261118T103000Z`)).toBe(true);
    expect(readdirSync(folder).filter((name) => name.includes('restoring') || name.includes('.part'))).toEqual([]);

    expect((await open()).ledger.mustBeAdopted).toMatch(/restored from a copy that has 1 records of the audit log/);
    close();
    const other = installed();
    await other.serve();
    const nothing = await opsd(['state', 'adopt', '--reason', 'x', ...other.args]);
    expect(nothing.stdout).toBe('The store needs no adoption.\n');
  });

  test('adopts through the daemon, for a reason', async () => {
    const { open, close, serve, args, folder } = installed();
    const { store } = await open();
    await backupStore(store, join(folder, 'copy.db'));
    close();
    await opsd(['state', 'restore', join(folder, 'copy.db'), ...args]);
    await serve();
    const adopted = await opsd(['state', 'adopt', '--reason', 'compared', ...args]);
    expect(adopted.stdout).toMatch(/^Adopted. The store was not trusted: the store was restored from a copy/);
    const shown = await opsd(['audit', ...args, '-o', 'jsonl']);
    expect(shown.stdout.trimEnd().split('\n').at(-1)).toContain('"reason":"compared"');
  });

  test('resets a counter through the daemon, and prints its former value', async () => {
    const { serve, args } = installed();
    await serve();
    const reset = (metric: string) =>
      opsd([
        'state',
        'reset-counter',
        metric,
        '--account',
        'prod',
        '--label',
        'series=delivered',
        '--reason',
        'x',
        ...args,
      ]);
    expect((await reset('msgsvc_account_messages_total')).stdout).toBe(
      'msgsvc_account_messages_total{account="prod",series="delivered"} was 18446744073709552000, and is 0 now.\n',
    );
    const none = await reset('msgsvc_account_billing_dollars_total');
    expect(none.stderr).toContain('account prod has no counter msgsvc_account_billing_dollars_total with these labels');
    expect(none.code).toBe(1);
  });

  test('keeps the write-ahead log that a crash left in the store that it replaces', async () => {
    const crashed = installed();
    const running = installed();
    const { store, ledger } = await running.open();
    await backupStore(store, join(crashed.folder, 'copy.db'));
    await intentFor(ledger, 'last');
    for (const suffix of ['', '-wal', '.audit.jsonl']) copyFileSync(running.path + suffix, crashed.path + suffix);
    const restored = await opsd(['state', 'restore', join(crashed.folder, 'copy.db'), ...crashed.args]);
    expect(restored.code).toBe(0);
    expect(existsSync(`${crashed.path}-wal`)).toBe(false);
    const claims = (path: string): unknown => {
      using db = new DatabaseSync(path);
      return db
        .prepare('SELECT target FROM intents')
        .all()
        .map((row) => row['target']);
    };
    expect(claims(`${crashed.path}.before-restore-20261118T103000Z`)).toEqual(['last']);
    expect(claims(crashed.path)).toEqual([]);
  });

  test('a file that is not a store does not replace one', async () => {
    const { open, close, args, folder, path } = installed();
    await open();
    close();
    const before = readFileSync(path);
    writeFileSync(join(folder, 'letter'), 'dear aunt, '.repeat(1_000));
    const result = await opsd(['state', 'restore', join(folder, 'letter'), ...args]);
    expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining('not a usable store') as string });
    expect(readFileSync(path)).toEqual(before);
    expect((await opsd(['state', 'restore', join(folder, 'none'), ...args])).stderr).toContain('does not exist');
  });
});
