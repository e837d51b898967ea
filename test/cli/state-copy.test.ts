/** `opsd state copy` over real databases. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseConfig } from '#config/load.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { Secret } from '#foundation/platform/secret.ts';
import { get, run } from '#storage/database.ts';
import { openPostgres } from '#storage/postgres/postgres-database.ts';
import { openStore } from '#storage/sqlite.ts';
import { SERVERS } from '../support/postgres/servers.ts';
import { emptyDatabase } from '../support/postgres/test-databases.ts';
import { tempDir } from '../support/temp-dir.ts';
import { shellWords } from './shell-words.ts';
import { storeWithActions } from '../storage/copy/world.ts';
import { opsd } from './terminal.ts';

async function world() {
  const url = await emptyDatabase(SERVERS.at(-1)!);
  const urlFile = join(tempDir(), 'url');
  writeFileSync(urlFile, `${url}\n`, { mode: 0o600 });
  return { path: await storeWithActions(), place: new URL(url), database: `postgres:${urlFile}` };
}

test('moves a store to PostgreSQL and back, and says how to go back', async () => {
  const { path, place, database } = await world();
  const there = `postgres:${place.host}${place.pathname}`;
  const moved = await opsd(['state', 'copy', '--from', `sqlite:${path}`, '--to', database]);
  expect(moved).toMatchObject({ code: 0, stderr: '' });
  expect(moved.stdout).toMatch(/^TABLE +ROWS\n/);
  expect(moved.stdout).toMatch(/^intents +3$/m);
  expect(moved.stdout).toMatch(
    new RegExp(
      `Moved sqlite:\\S+ to ${there}: \\d+ rows in \\d+ tables, 7 records of the audit log, head 7:[0-9a-f]{64}`,
    ),
  );
  expect(moved.stdout).toContain(`To go back: opsd state copy --undo --from sqlite:${path}\n`);

  const again = await opsd(['state', 'copy', '--from', `sqlite:${path}`, '--to', database]);
  expect(again).toMatchObject({ code: 1, stdout: '' });
  expect(again.stderr).toContain(`the store was moved to ${there}`);

  const copy = join(tempDir(), 'new.db');
  const back = await opsd(['state', 'copy', '--from', database, '--to', `sqlite:${copy}`, '-o', 'json']);
  expect(JSON.parse(back.stdout)).toMatchObject({ from: there, to: `sqlite:${copy}`, audit: { records: 7 } });
  openStore(copy)[Symbol.dispose]();

  const undone = await opsd(['state', 'copy', '--undo', '--from', `sqlite:${path}`]);
  expect(undone).toMatchObject({ code: 0, stderr: '' });
  expect(undone.stdout).toContain(`It had been moved to ${there}, where no daemon must run any more.`);
  openStore(path)[Symbol.dispose]();
  expect((await opsd(['state', 'copy', '--undo', '--from', `sqlite:${path}`])).stdout).toBe(
    'The store was not moved.\n',
  );
  const other = await opsd(['state', 'copy', '--undo', '--from', database, '-o', 'json']);
  expect(JSON.parse(other.stdout)).toMatchObject({ movedTo: `sqlite:${copy}` });
});

test('shows the progress on one line of a terminal, and erases it', async () => {
  const { path, database } = await world();
  const { stderr } = await opsd(['state', 'copy', '--from', `sqlite:${path}`, '--to', database], {
    isTTY: true,
    clock: systemClock,
  });
  expect(stderr).toContain(`\rchecking ${path}`.slice(0, 79));
  expect(stderr.endsWith('\r\u001B[K')).toBe(true);
  expect(stderr).not.toContain('\n');
});

test('a file without a usable URL is named, and its content is not', async () => {
  const { path } = await world();
  const urlFile = join(tempDir(), 'url');
  const copy = () => opsd(['state', 'copy', '--from', `sqlite:${path}`, '--to', `postgres:${urlFile}`]);
  const missing = await copy();
  expect(missing).toMatchObject({ code: 1, stdout: '' });
  expect(missing.stderr).toContain(`the file with the URL cannot be read: ENOENT`);
  writeFileSync(urlFile, 'mysql://opsd:hunter2@db.example/opsd');
  const wrong = await copy();
  expect(wrong).toMatchObject({ code: 1, stdout: '' });
  expect(wrong.stderr).toContain('must be a URI such as postgres://');
  expect(wrong.stderr).not.toContain('hunter2');
  openStore(path)[Symbol.dispose]();
});

test('docs/backup.md shows commands that work in their order, and a configuration that loads', async () => {
  const { path, database } = await world();
  const page = readFileSync(join(import.meta.dirname, '../../docs/backup.md'), 'utf8');
  const [backups, text] = page.split('\n## Move a store\n') as [string, string];
  const copy = join(tempDir(), 'opsd-2.db');
  const lines = [...text.matchAll(/^ *(opsd state .*)$/gm)].map((match) => match[1]!);
  expect(lines).toHaveLength(3);
  for (const line of lines) {
    const given = line
      .replace('/data/opsd.db', path)
      .replace('/data/opsd-2.db', copy)
      .replace('postgres:/run/secrets/opsd-url', database);
    expect(await opsd(shellWords(given).slice(1)), given).toMatchObject({ code: 0, stderr: '' });
  }
  openStore(path)[Symbol.dispose]();
  openStore(copy)[Symbol.dispose]();
  const [, settings] = /```yaml\n(.*?)```/s.exec(text)!;
  const accounts = 'accounts: [{ name: production, url: "https://eu.msgsvc.example", token: t }]';
  expect(
    parseConfig(`${accounts}\n${settings!.replaceAll(/^ {3}/gm, '')}`, {
      file: 'opsd.yaml',
      env: {},
      secrets: false,
      baseDir: '/',
    }),
  ).toMatchObject({
    ok: true,
  });
  const [, distrust] = /```sql\n(.*?);\n```/s.exec(backups)!;
  const url = Secret.fromFile(database.slice('postgres:'.length));
  await using restored = openPostgres({ url, name: 'test', poolSize: 2, clock: systemClock });
  await restored.transaction(run(distrust!));
  expect(await restored.read(get(`SELECT value FROM meta WHERE key = 'must_adopt'`))).toBeDefined();
});
