import {
  appendFileSync,
  copyFileSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readAudit, verifyAudit } from '#automate/ledger/audit-reader.ts';
import type { AuditRecord } from '#automate/ledger/audit-log.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { openAuditLog } from '#storage/audit-file.ts';
import { readHead } from '#storage/audit-head.ts';
import { openLedger } from '#storage/sqlite-ledger.ts';
import { openStore } from '#storage/sqlite.ts';
import { intentFor, NO_CAPS, planOf, resumeOf } from '../support/ledger-facts.ts';
import { auditedStore } from '../support/audited-store.ts';

function world() {
  const audited = auditedStore();
  return { ...audited, records: () => Array.fromAsync(readAudit(audited.auditPath)) };
}

const typesOf = (records: readonly AuditRecord[]): string[] => records.map(({ type }) => type);

test('every state change is a record, and none contains the data of an entry', async () => {
  const { open, records, auditPath } = world();
  const { ledger } = await open();
  const run = await ledger.beginRun(planOf(), 1_000);
  const carried = {
    labels: ['tenant:secret'],
    cause: 'a body',
    workflowUrl: 'https://u:p@host/?token=x',
    group: 'https://u:p@host/',
  };
  const reserved = await ledger.reserve(run, resumeOf('a', carried), 1_000, NO_CAPS);
  const id = reserved.ok ? reserved.intent.id : 0;
  await ledger.recordOutcome(id, 'production', {
    at: 1_100,
    outcome: 'accepted',
    newRunId: 'wfr_new',
    detail: 'Bearer abc',
    done: 1,
  });
  await ledger.finishRun(run, 'production', {
    at: 1_200,
    outcome: 'acted',
    matched: 1,
    acted: 1,
    backlog: 0,
    detail: 'a header',
  });
  await ledger.pause({ scope: 'engine', reason: 'outcome_mismatch', at: 1_300, by: 'engine' });
  await ledger.pause({ scope: 'group/p/https://u:p@host/', reason: 'odd', at: 1_350, by: 'anna' });
  await ledger.unpause({ at: 1_400, reason: 'looked', by: 'anna' });
  await ledger.savePlan({ targets: ['a'], plan: planOf(), savedAt: 1, expiresAt: 9_000, state: 'pending' });
  await ledger.decidePlan('9f3c2a', { state: 'approved', at: 2, by: 'anna' });
  await ledger.recordTrigger({ policy: 'p', account: 'production', trigger: { kind: 'callback', key: 'k' }, at: 1 });
  const of = { policy: 'p', account: 'production', group: 'https://u:p@host/' };
  await ledger.changeCampaign(of, () => ({
    ...of,
    id: '',
    state: 'ready',
    step: 1,
    size: 1,
    begunAt: 1,
    halts: 0,
    recent: [],
    judged: 0,
    verified: 0,
  }));
  expect(typesOf(await records())).toEqual([
    'store.opened',
    'run.begun',
    'intent',
    'outcome',
    'run.finished',
    'pause',
    'pause',
    'unpause',
    'plan.saved',
    'plan.decided',
    'trigger',
    'campaign',
  ]);
  expect((await records())[2]).toMatchObject({ sequence: 3, intent: id, target: 'a', action: 'workflow-dlq.resume' });
  const [, scoped] = (await records()).filter(({ type }) => type === 'pause');
  const campaign = (await records()).at(-1)!;
  expect(scoped).toMatchObject({ scope: `group/p/${String(campaign['group'])}` });
  const text = readFileSync(auditPath, 'utf8');
  for (const secret of ['tenant', 'a body', 'token', 'u:p', 'Bearer', 'header']) expect(text).not.toContain(secret);
  expect(statSync(auditPath).mode & 0o777).toBe(0o600);
});

test('a run that did nothing is one record, with its beginning and its end', async () => {
  const { open, records } = world();
  const { ledger } = await open();
  const trigger = { kind: 'alert', name: 'BillingDown', key: 'opsd/0f/2026' } as const;
  const end = {
    at: 1_200,
    outcome: 'held',
    matched: 4,
    acted: 0,
    backlog: 4,
    detail: 'caps',
    stoppedBy: 'caps',
  } as const;
  await ledger.recordRun(planOf({ trigger }), 1_000, end);
  const [run] = await ledger.lastRuns();
  const { at: finishedAt, stoppedBy: _guard, ...shown } = end;
  expect(run).toMatchObject({ ...shown, policy: 'resume-billing', at: 1_000, finishedAt, trigger, planId: '9f3c2a' });
  const [, record, ...others] = await records();
  expect(others).toEqual([]);
  expect(record).toMatchObject({
    type: 'run.finished',
    run: run!.id,
    plan: '9f3c2a',
    trigger: 'alert',
    alert: 'BillingDown',
    key: 'opsd/0f/2026',
    chosen: 0,
    outcome: 'held',
    matched: 4,
    acted: 0,
    backlog: 4,
  });
});

test('a rejected or ineffective change is not a record', async () => {
  const { open, records } = world();
  const { ledger } = await open();
  await intentFor(ledger, 'a');
  const before = (await records()).length;
  await ledger.reserve(1, resumeOf('a'), 2_000, NO_CAPS);
  await ledger.unpause({ at: 1, reason: 'nothing', by: 'anna' });
  await ledger.decidePlan('none00', { state: 'applied', at: 1, by: 'anna' });
  await ledger.noteMatches({ name: 'p', account: 'production' }, ['a'], 1);
  expect(await records()).toHaveLength(before);
});

test('the chain continues from one opening to the next, and store and file name the same head', async () => {
  const { open, close, records, auditPath } = world();
  await intentFor((await open()).ledger, 'a');
  close();
  const { store, audit, ledger } = await open();
  const intent = await intentFor(ledger, 'b');
  await ledger.recordOutcome(intent, 'production', { at: 2, outcome: 'accepted' });
  const head = audit.head()!;
  expect(readHead(store.db)).toEqual(head);
  expect(await audit.verify()).toEqual({ records: 7, head, isTorn: false });
  expect(await verifyAudit(auditPath, { known: head })).not.toHaveProperty('finding');
  expect((await records()).map(({ opening }) => opening)).toEqual([1, 1, 1, 2, 2, 2, 2]);
  expect(ledger.mustBeAdopted).toBeUndefined();
});

test('a run names its trigger, and for an alert its name and firing', async () => {
  const { open, records } = world();
  const { ledger } = await open();
  await ledger.beginRun(planOf(), 1);
  await ledger.beginRun(planOf({ trigger: { kind: 'alert', name: 'BillingDown', key: 'opsd/0f/2026' } }), 2);
  await ledger.beginRun(planOf({ trigger: { kind: 'callback', key: 'production/dlq-1' } }), 3);
  expect((await records()).slice(1).map(({ trigger, alert, key }) => ({ trigger, alert, key }))).toEqual([
    { trigger: 'schedule', alert: undefined, key: undefined },
    { trigger: 'alert', alert: 'BillingDown', key: 'opsd/0f/2026' },
    { trigger: 'callback', alert: undefined, key: 'production/dlq-1' },
  ]);
});

test('a change that cannot be written to the audit log does not happen', async () => {
  const { open, auditPath } = world();
  const { ledger, audit } = await open();
  const run = await ledger.beginRun(planOf(), 1);
  renameSync(auditPath, `${auditPath}.away`);
  await expect(ledger.reserve(run, resumeOf('a'), 1_000, NO_CAPS)).rejects.toThrow(
    /moved or removed while the daemon is running/,
  );
  expect((await ledger.claims('production', ['a'])).has('a')).toBe(false);
  expect((await ledger.used([{ scope: {}, since: 0 }]))[0]).toBe(0);
  renameSync(`${auditPath}.away`, auditPath);
  expect((await ledger.reserve(run, resumeOf('a'), 1_000, NO_CAPS)).ok).toBe(true);
  expect(await audit.verify()).not.toHaveProperty('finding');
});

test('nothing is written, and nothing done, once the log is closed', async () => {
  const { open } = world();
  const { ledger, audit } = await open();
  const run = await ledger.beginRun(planOf(), 1);
  audit[Symbol.dispose]();
  await expect(ledger.reserve(run, resumeOf('a'), 1_000, NO_CAPS)).rejects.toThrow('the audit log is closed');
  expect((await ledger.claims('production', ['a'])).has('a')).toBe(false);
});

test('the rest of a failed append is removed by the next one', async () => {
  const { open, auditPath } = world();
  const { ledger, audit } = await open();
  appendFileSync(auditPath, '{"half":'.repeat(1_000));
  await intentFor(ledger, 'a');
  expect(await audit.verify()).toEqual({ records: 3, head: audit.head(), isTorn: false });
});

test('an audit log that cannot be opened leaves a daemon that does nothing, and reports the reason', async () => {
  const { open, close, path, auditPath } = world();
  await open();
  close();
  rmSync(auditPath);
  const store = openStore(path);
  onTestFinished(() => store[Symbol.dispose]());
  const audit = openAuditLog({ ...store, path: join(path, 'below-a-file') }, new ManualClock(1));
  const ledger = await openLedger(store, audit);
  expect(ledger.mustBeAdopted).toMatch(/^the audit log is unusable: ENOTDIR/);
  await expect(ledger.beginRun(planOf(), 1)).rejects.toThrow(/the audit log is unusable/);
  await expect(ledger.adopt({ at: 1, by: 'anna', reason: 'x' })).rejects.toThrow(
    /fix this and restart the daemon; adopt the store/,
  );
});

test('an opening that cannot be recorded is tried again until it is, once', async () => {
  const { path, auditPath, records } = world();
  const store = openStore(path);
  onTestFinished(() => store[Symbol.dispose]());
  const audit = openAuditLog(store, new ManualClock(1));
  onTestFinished(() => audit[Symbol.dispose]());
  renameSync(auditPath, `${auditPath}.away`);
  const ledger = await openLedger(store, audit);
  const reason = /^the audit log cannot be written: .* moved or removed .*; each run of a policy tries again$/;
  expect(ledger.mustBeAdopted).toMatch(reason);
  expect(await ledger.leaseLost('production')).toBeUndefined();
  expect(ledger.mustBeAdopted).toMatch(reason);
  await expect(ledger.adopt({ at: 1, by: 'anna', reason: 'x' })).rejects.toThrow(/adopt the store after that/);
  renameSync(`${auditPath}.away`, auditPath);
  await Promise.all([ledger.leaseLost('production'), ledger.leaseLost('production')]);
  expect(ledger.mustBeAdopted).toBeUndefined();
  expect(typesOf(await records())).toEqual(['store.opened']);
});

test('a change whose transaction fails after its record is followed by a record of the failure', async () => {
  const { open, close, records } = world();
  const { store, ledger } = await open();
  const run = await ledger.beginRun(planOf(), 1);
  store.db.exec(`CREATE TEMP TRIGGER refuse BEFORE INSERT ON meta BEGIN SELECT RAISE(ABORT, 'no room'); END`);
  await expect(ledger.reserve(run, resumeOf('a'), 1_000, NO_CAPS)).rejects.toThrow('no room');
  store.db.exec('DROP TRIGGER refuse');
  await ledger.pause({ scope: 'engine', reason: 'x', at: 1, by: 'anna' });
  const all = await records();
  expect(typesOf(all)).toEqual(['store.opened', 'run.begun', 'intent', 'audit.not_committed', 'pause']);
  expect(all[3]).toMatchObject({ record: 3 });
  close();
  expect((await open()).ledger.mustBeAdopted).toBeUndefined();
});

test('a line without an end is cut off, and reported', async () => {
  const { open, close, records, auditPath } = world();
  await intentFor((await open()).ledger, 'a');
  close();
  appendFileSync(auditPath, '{"account":"produ');
  expect(await verifyAudit(auditPath)).toMatchObject({ records: 3, isTorn: true });
  const { ledger, audit } = await open();
  expect(ledger.mustBeAdopted).toBeUndefined();
  expect((await records()).slice(3)).toMatchObject([{ type: 'audit.torn', bytes: 17 }, { type: 'store.opened' }]);
  expect(await audit.verify()).toMatchObject({ isTorn: false });
});

test.each<[string, RegExp, (world: { path: string; auditPath: string }) => void]>([
  ['is missing', /audit log is missing: the store has \d+ records/, ({ auditPath }) => rmSync(auditPath)],
  ['is empty', /audit log is missing/, ({ auditPath }) => truncateSync(auditPath, 0)],
  [
    'lost its last record',
    /ends with record 5, but the store has 6: the log was truncated/,
    ({ auditPath }) =>
      writeFileSync(auditPath, readFileSync(auditPath, 'utf8').split('\n').slice(0, 5).join('\n') + '\n'),
  ],
  [
    'lost a part of its last record',
    /ends with record 5, but the store has 6: the log was truncated/,
    ({ auditPath }) => truncateSync(auditPath, statSync(auditPath).size - 20),
  ],
  [
    'had its last record changed',
    /last line of the audit log is damaged: record 6 was changed/,
    ({ auditPath }) =>
      writeFileSync(auditPath, readFileSync(auditPath, 'utf8').replace('"target":"b"', '"target":"c"')),
  ],
  [
    'belongs to an older copy of the store',
    /older than its audit log: it has 3 of 6 records/,
    ({ path }) => copyFileSync(`${path}.copy`, path),
  ],
  ['belongs to a store that is gone', /audit log beside it is of store [0-9a-f]{10}/, ({ path }) => rmSync(path)],
])('a store whose audit log %s acts only after an operator adopted it', async (_what, reason, spoil) => {
  const { open, close, path, auditPath, records } = world();
  await intentFor((await open()).ledger, 'a');
  close();
  copyFileSync(path, `${path}.copy`);
  expect(existsSync(`${path}-wal`)).toBe(false);
  await intentFor((await open()).ledger, 'b');
  close();
  spoil({ path, auditPath });
  expect((await open()).ledger.mustBeAdopted).toMatch(reason);
  close();

  const { ledger } = await open();
  expect(ledger.mustBeAdopted, 'after one more restart').toMatch(reason);
  expect((await ledger.used([{ scope: { policy: 'none' }, since: 0 }]))[0]).toBe(Number.MAX_SAFE_INTEGER);
  const run = await ledger.beginRun(planOf(), 2);
  expect(await ledger.reserve(run, resumeOf('x'), 3, NO_CAPS)).toMatchObject({ ok: false, guard: 'caps' });
  await ledger.noteAccounts([{ account: 'production', id: 'acc-1' }], 1);
  await ledger.adopt({ at: 4, by: 'anna', reason: 'compared with the service' });
  // Raises may be missing, so a budget must be asserted after this.
  expect(await ledger.accountSince('production')).toBeUndefined();
  expect(ledger.mustBeAdopted).toBeUndefined();
  expect(await ledger.reserve(run, resumeOf('x'), 3, NO_CAPS)).toMatchObject({ ok: true });
  expect((await ledger.used([{ scope: { policy: 'none' }, since: 0 }]))[0]).toBe(0);
  close();
  expect((await open()).ledger.mustBeAdopted).toBeUndefined();
  const told = await records();
  expect(told.find(({ type }) => type === 'store.distrusted')).toMatchObject({ reason: expect.stringMatching(reason) });
  expect(told.find(({ type }) => type === 'store.adopted')).toMatchObject({
    by: 'anna',
    reason: 'compared with the service',
  });
});

test('a record whose transaction did not commit is reported as not committed; two of them are another store', async () => {
  const { open, close, path, records } = world();
  const files = [path, `${path}-wal`];
  const { ledger } = await open();
  const run = await ledger.beginRun(planOf(), 1);
  for (const file of files) copyFileSync(file, `${file}.copy`);
  await ledger.reserve(run, resumeOf('a'), 1_000, NO_CAPS);
  close();
  // State after a crash between record and commit: the record is in the file, the store is unchanged.
  const asBefore = (): void => files.forEach((file) => copyFileSync(`${file}.copy`, file));
  asBefore();
  const recovered = await open();
  expect(recovered.ledger.mustBeAdopted).toBeUndefined();
  expect((await recovered.ledger.claims('production', ['a'])).has('a')).toBe(false);
  expect((await records()).slice(2)).toMatchObject([
    { type: 'intent', sequence: 3 },
    { type: 'audit.not_committed', record: 3 },
    { type: 'store.opened' },
  ]);
  expect(await recovered.audit.verify()).not.toHaveProperty('finding');
  await intentFor(recovered.ledger, 'b');
  close();
  asBefore();
  expect((await open()).ledger.mustBeAdopted).toMatch(/older than its audit log: it has 2 of 7 records/);
});

test('a record with successors was committed: a store that lacks it is an old copy', async () => {
  const { open, close, path } = world();
  const files = [path, `${path}-wal`];
  const { ledger } = await open();
  for (const file of files) copyFileSync(file, `${file}.copy`);
  await ledger.beginRun(planOf(), 1);
  close();
  await open();
  close();
  for (const file of files) copyFileSync(`${file}.copy`, file);
  expect((await open()).ledger.mustBeAdopted).toMatch(/older than its audit log/);
});

test.each<[string, (text: string) => string, number, RegExp]>([
  ['a changed value', (text) => text.replace('"target":"a"', '"target":"z"'), 3, /record 3 was changed/],
  ['a line taken out', (text) => text.split('\n').toSpliced(2, 1).join('\n'), 3, /record 4 follows record 2/],
  ['lines in another order', (text) => swap(text, 2, 3), 3, /record 4 follows record 2/],
  ['a line that is none', (text) => text.replace('\n', '\nhello\n'), 2, /it is not JSON/],
  ['another form', (text) => text.replace('{"account"', '{ "account"'), 2, /rewritten in another form/],
  ['a beginning cut off', (text) => text.split('\n').slice(2).join('\n'), 1, /begins with record 3/],
  [
    'an end cut off',
    (text) => text.split('\n').slice(0, 4).join('\n') + '\n',
    5,
    /ends with record 4, but record 5 existed/,
  ],
])('verify finds %s', async (_what, spoil, line, problem) => {
  const { open, close, auditPath } = world();
  const { audit, ledger } = await open();
  await intentFor(ledger, 'a');
  await intentFor(ledger, 'b');
  const head = audit.head()!;
  close();
  writeFileSync(auditPath, spoil(readFileSync(auditPath, 'utf8')));
  const { finding } = await verifyAudit(auditPath, { known: head });
  expect(finding).toEqual({ file: auditPath, line, problem: expect.stringMatching(problem) });
});

function swap(text: string, one: number, other: number): string {
  const lines = text.split('\n');
  return lines.with(one, lines[other]!).with(other, lines[one]!).join('\n');
}

test('a log that was rewritten with matching hashes does not have the known head', async () => {
  const first = world();
  await intentFor((await first.open()).ledger, 'a');
  const second = world();
  const { audit, ledger } = await second.open();
  await intentFor(ledger, 'a');
  const seen = audit.head()!;
  const { finding } = await verifyAudit(first.auditPath, { known: seen });
  expect(finding).toEqual({
    file: first.auditPath,
    line: 3,
    problem: 'record 3 differs from the known one: the log was rewritten',
  });
});
