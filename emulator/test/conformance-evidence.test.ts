/** Tests of the rule that a row of the conformance table needs a request and an assertion about its answer. */
import { describe, expect, test } from 'vitest';
import { recordAnswer, takeEvidence, unproven, watchedFiles, type Evidence } from './conformance-evidence.ts';
import type { Row } from './conformance-row.ts';

const FILE = 'a.test.ts';
const row = (id: string, title = 'lists'): Row => ({ id, statement: 's', proof: { file: FILE, test: title } });
const ran = (title: string, ...operations: readonly string[]): Evidence => ({ title, operations: new Set(operations) });
const answer = () => recordAnswer('list-logs', { status: 200 });

describe('evidence of a test', () => {
  test.each<readonly [string, () => void, readonly string[]]>([
    ['an empty test', () => undefined, []],
    ['an assertion without a request', () => expect(1).toBe(1), []],
    ['a request without an assertion', () => answer().status, []],
    ['an answer that is not read', () => (answer(), expect(1).toBe(1)), []],
    [
      'an assertion before the answer',
      () => {
        expect(1).toBe(1);
        return answer().status;
      },
      [],
    ],
    ['an assertion about an answer', () => expect(answer().status).toBe(200), ['list-logs']],
    ['an assertion about a whole answer', () => expect(answer()).toEqual({ status: 200 }), ['list-logs']],
  ])('%s', (_what, run, operations) => {
    run();
    expect([...takeEvidence('x').operations]).toEqual(operations);
  });

  test('an awaited answer is not a read answer', async () => {
    await Promise.resolve(answer());
    expect(takeEvidence('x').operations.size).toBe(0);
  });

  test('the next test begins without evidence', () => {
    expect(answer().status).toBe(200);
    takeEvidence('one');
    expect(takeEvidence('the next').operations.size).toBe(0);
  });
});

describe('a row', () => {
  const violations = (rows: readonly Row[], ...evidence: readonly Evidence[]) => unproven(rows, FILE, evidence);

  test.each([
    ['an empty test with its title', row('4.1.list-logs.query.url'), ran('lists')],
    ['a test of another operation', row('4.1.list-logs.query.url'), ran('lists', 'publish')],
    ['an empty test, for a statement of no operation', row('2.3.log.url'), ran('lists')],
    ['an empty test of a value', row('4.1.list-logs', 'lists by %s'), ran('lists by url')],
  ])('is not proven by %s', (_what, unprovenRow, evidence) => {
    expect(violations([unprovenRow], evidence)).toEqual([
      expect.stringContaining(`${unprovenRow.id}: "${unprovenRow.proof!.test}" asserts nothing`),
    ]);
  });

  test.each([
    ['a test of its operation', row('4.1.list-logs.query.url'), ran('lists', 'publish', 'list-logs')],
    ['any operation, where it is of none', row('2.3.log.url'), ran('lists', 'publish')],
    ['a test of one of many values', row('4.1.list-logs', 'lists by %s (%j)'), ran('lists by url ([1])', 'list-logs')],
  ])('is proven by %s', (_what, provenRow, evidence) => {
    expect(violations([provenRow], ran('lists'), evidence)).toEqual([]);
  });

  test('of another file, or of a test that a filter excluded, is not checked', () => {
    expect(unproven([row('2.3.log.url')], 'b.test.ts', [ran('lists')])).toEqual([]);
    expect(violations([row('2.3.log.url')], ran('something else'))).toEqual([]);
  });
});

test('files of these tests are watched', () => {
  expect(watchedFiles).toContain(import.meta.filename);
});
