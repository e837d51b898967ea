/** An audit log of several files: one chain. */
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readAudit, segmentPathOf, segmentsOf, verifyAudit } from '#automate/ledger/audit-reader.ts';
import { intentFor } from '../support/ledger-facts.ts';
import { auditedStore } from '../support/audited-store.ts';

const MAX_BYTES = 1_500;

function world() {
  const audited = auditedStore(MAX_BYTES);
  return {
    ...audited,
    segments: () => segmentsOf(audited.auditPath),
    /** Opens both, and creates this many intents. */
    open: async (intents = 0) => {
      const opened = await audited.open();
      for (let n = 0; n < intents; n++) await intentFor(opened.ledger, `dlq-${opened.audit.head()?.sequence}`);
      return opened;
    },
  };
}

async function sequencesOf(auditPath: string): Promise<number[]> {
  return (await Array.fromAsync(readAudit(auditPath))).map(({ sequence }) => sequence);
}

describe('a full file', () => {
  test('becomes a segment that is named after its last record, and the chain continues in a new file', async () => {
    const { open, auditPath, segments } = world();
    const { audit } = await open(10);
    expect(segments().length).toBeGreaterThan(2);
    const ends = segments().map((segment) => readFileSync(segment, 'utf8').trimEnd().split('\n').at(-1)!);
    const lasts = ends.map((line) => (JSON.parse(line) as { sequence: number }).sequence);
    expect(segments()).toEqual(lasts.map((last) => segmentPathOf(auditPath, last)));
    for (const file of [...segments(), auditPath]) {
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(statSync(file).size).toBeLessThan(MAX_BYTES + 1_500);
    }
    const count = audit.head()!.sequence;
    expect(await sequencesOf(auditPath)).toEqual(Array.from({ length: count }, (_, index) => index + 1));
    expect(await audit.verify()).toEqual({ records: count, head: audit.head(), isTorn: false });
  });

  test('that cannot be rotated keeps growing, and is rotated when possible', async () => {
    const { open, auditPath, segments } = world();
    mkdirSync(`${auditPath}.next`);
    const { ledger, audit } = await open(10);
    expect(segments()).toEqual([]);
    rmSync(`${auditPath}.next`, { recursive: true });
    await intentFor(ledger, 'after');
    expect(segments()).toHaveLength(1);
    expect(await audit.verify()).not.toHaveProperty('finding');
  });

  test('does not take the name of an existing segment', async () => {
    const { open, close, auditPath, segments } = world();
    const { audit } = await open(3);
    close();
    const taken = segmentPathOf(auditPath, audit.head()!.sequence + 1);
    writeFileSync(taken, 'mine');
    await open(10);
    expect(readFileSync(taken, 'utf8')).toBe('mine');
    expect(segments()).toContain(taken);
  });
});

describe('a crash', () => {
  test.each([
    ['before the new file has its name', true],
    ['before the old file has another name', false],
  ])('%s leaves the chain', async (_when, isRenamed) => {
    const { open, close, auditPath } = world();
    const { audit } = await open(2);
    const { sequence } = audit.head()!;
    close();
    writeFileSync(`${auditPath}.next`, '');
    if (isRenamed) renameSync(auditPath, segmentPathOf(auditPath, sequence));
    const { ledger, audit: again } = await open(1);
    expect(ledger.mustBeAdopted).toBeUndefined();
    expect(await sequencesOf(auditPath)).toEqual(Array.from({ length: sequence + 3 }, (_, index) => index + 1));
    expect(await again.verify()).not.toHaveProperty('finding');
  });
});

describe('missing or changed parts', () => {
  test('a missing file after a rotation is detected: its segments do not replace it', async () => {
    const { open, close, auditPath, segments } = world();
    await open(10);
    expect(segments().length).toBeGreaterThan(0);
    close();
    rmSync(auditPath);
    expect((await open()).ledger.mustBeAdopted).toMatch(
      /the audit log ends with record \d+, but the store has \d+: the log was truncated/,
    );
  });

  test('a changed line in a segment is found with its file and line', async () => {
    const { open, auditPath, segments } = world();
    const { audit } = await open(10);
    const [, second] = segments();
    writeFileSync(second!, readFileSync(second!, 'utf8').replace('"items":1', '"items":2'));
    const { finding } = await audit.verify();
    expect(finding).toMatchObject({ file: second, problem: expect.stringMatching(/its hash does not/) as string });
    rmSync(second!);
    expect((await verifyAudit(auditPath)).finding!.problem).toMatch(/the records between them are missing/);
  });

  test('segments that were moved away are skipped, by the record that they end with', async () => {
    const { open, auditPath, segments } = world();
    const { audit } = await open(10);
    const [first, second] = segments();
    const line = readFileSync(first!, 'utf8').trimEnd().split('\n').at(-1)!;
    const { sequence, hash } = JSON.parse(line) as { sequence: number; hash: string };
    rmSync(first!);
    expect((await verifyAudit(auditPath)).finding).toEqual({
      file: second,
      line: 1,
      problem: `the log begins with record ${sequence + 1}: the earlier records are missing`,
    });
    const known = audit.head();
    expect(await verifyAudit(auditPath, { known, after: { sequence, hash } })).not.toHaveProperty('finding');
    expect(await verifyAudit(auditPath, { known, after: { sequence, hash: 'ab'.repeat(32) } })).toHaveProperty(
      'finding',
    );
  });

  test('a segment whose last line has no end is found', async () => {
    const { open, segments } = world();
    const { audit } = await open(10);
    appendFileSync(segments()[0]!, '{"type":"int');
    expect((await audit.verify()).finding).toMatchObject({ file: segments()[0] });
  });
});

test('a rotation during a read leaves no gap in it', async () => {
  const { open, auditPath, segments } = world();
  const { ledger, audit } = await open(10);
  const before = audit.head()!.sequence;
  const count = segments().length;
  const reading = readAudit(auditPath);
  const first = await reading.next();
  for (let n = 0; n < 20; n++) await intentFor(ledger, `late-${n}`);
  expect(segments().length).toBeGreaterThan(count);
  const rest = await Array.fromAsync(reading);
  const read = [first.value!, ...rest].map(({ sequence }) => sequence);
  expect(read).toEqual(Array.from({ length: read.length }, (_, index) => index + 1));
  expect(read.length).toBeGreaterThanOrEqual(before);
  expect(existsSync(auditPath)).toBe(true);
});
