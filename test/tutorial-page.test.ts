/** The comparison of outputs in tutorials: which text varies, and which must be as shown. */
import { describe, expect, test } from 'vitest';
import { compareOutput, stepsOf } from './system/tutorial-page.ts';

const NOTHING_FIXED: ReadonlySet<string> = new Set();

describe('an output', () => {
  test.each([
    ['✔ a test (49.53ms)', '✔ a test (1203.150169ms)'],
    ['at 2026-11-23 02:03:12Z, 4m59s ago', 'at 2027-01-02 23:59:59Z, 10s ago'],
    ['at 2026-11-23 02:03:12Z, 1 h ago', 'at 2027-01-02 23:59:59Z, 1 h 20 min ago'],
    ['up => 1 @[1795399584.983]', 'up => 1 @[1800000000]'],
    ['at http://127.0.0.1:8080/', 'at http://127.0.0.1:40123/'],
    ['ID     WHAT\nb1     a', 'ID  WHAT\r\nb1  a\r\n'],
    ['one\n…\nfour', 'one\ntwo\nthree\nfour'],
    ['one…\n…', 'one two\nthree'],
    ['one\n…\n', 'one\n'],
  ])('is as shown: %j, %j', (shown, printed) => {
    expect(compareOutput(shown, printed, NOTHING_FIXED)).toBeDefined();
  });

  test.each([
    ['up => 1 @[1795399584.983]', 'up => 0 @[1795399584.983]'],
    ['3 passed (49.53ms)', '2 passed (49.53ms)'],
    ['one\n…\nfour', 'one\ntwo\nthree'],
    ['one', 'one\ntwo'],
  ])('is another one: %j, %j', (shown, printed) => {
    expect(compareOutput(shown, printed, NOTHING_FIXED)).toBeUndefined();
  });

  test('gives the ids of a page their values, which later outputs must have', () => {
    const ids = compareOutput(
      'Plan 9f3c2a of dlq 1795399478878-w0',
      'Plan bf667b of dlq 1800000000000-w0',
      NOTHING_FIXED,
    );
    expect(ids).toEqual(
      new Map([
        ['9f3c2a', 'bf667b'],
        ['1795399478878-w0', '1800000000000-w0'],
      ]),
    );
    expect(compareOutput('Plan bf667b', 'Plan bf667b', new Set(['bf667b']))).toBeDefined();
    expect(compareOutput('Plan bf667b', 'Plan bf667c', new Set(['bf667b']))).toBeUndefined();
    expect(compareOutput('at 127.0.0.1:9', 'at 127.0.0.1:8', new Set(['127.0.0.1:9']))).toBeUndefined();
  });
});

describe('a page', () => {
  test('has files, commands with their output, and commands that are not run', () => {
    const page = [
      'Create `a.yaml`:\n\n```yaml\na: 1\n```\n',
      '```sh\nls\n```\n\n```text\na.yaml\n```\n',
      '<!-- exit code 2 -->\n\n```sh\nplan\n```\n',
      '<!-- not run: no engine -->\n\n```sh\ndocker run\n```\n',
    ];
    expect(stepsOf(page.join('\n'))).toEqual([
      { kind: 'file', name: 'a.yaml', text: 'a: 1\n' },
      { kind: 'command', script: 'ls\n', how: 'once', exitCode: 0, output: 'a.yaml\n' },
      { kind: 'command', script: 'plan\n', how: 'once', exitCode: 2 },
      { kind: 'not run', script: 'docker run\n', reason: 'no engine' },
    ]);
  });

  test.each([
    ['a file without a name', 'a file without a name', '```yaml\na: 1\n```\n'],
    ['an output without a command', 'output without a command', '```text\na\n```\n'],
    ['an unknown comment', 'unknown comment: later', '<!-- later -->\n\n```sh\nls\n```\n'],
  ])('cannot have %s', (_name, error, page) => {
    expect(() => stepsOf(page)).toThrow(error);
  });
});
