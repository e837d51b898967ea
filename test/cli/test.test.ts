/** `opsd test`: its output for files that pass, fail, or cannot be loaded. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { opsd } from './terminal.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'opsd-test-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const POLICY = `policies:
  - name: resume
    account: main
    mode: enforce
    select: { resource: workflow-dlq }
    action: { type: workflow-dlq.resume }
`;

/** @param tests content of `tests:` */
async function tested(tests: string, options: readonly string[] = [], head = POLICY) {
  const file = join(folder, 'a_test.yaml');
  writeFileSync(file, `${head}tests:\n${tests}`);
  const { code, stdout, stderr } = await opsd(['test', file, ...options]);
  const clean = (text: string): string => text.replaceAll(`${folder}/`, '');
  return { code, stdout: clean(stdout), stderr: clean(stderr) };
}

describe('opsd test', () => {
  test('prints SUCCESS when all is as expected', async () => {
    const found = await tested(`  - name: one
    given: { entries: [{ dlqId: a }] }
    steps: [{ run: resume, expect: { outcome: acted, chosen: [a] } }]
`);
    expect(found).toEqual({ code: 0, stderr: '', stdout: 'Policy tests:  a_test.yaml\n  SUCCESS  1 test\n\n' });
  });

  test('states verdicts of canaries, which hold a run while they are unknown', async () => {
    const expr = 'canary("home") == "ok"';
    const policy = POLICY.replace('    select', `    preconditions: [{ name: works, expr: '${expr}' }]\n    select`);
    const held = '{ outcome: held, stopped: { guard: precondition } }';
    const found = await tested(
      `  - name: one
    given: { entries: [{ dlqId: a }] }
    steps:
      - { run: resume, expect: ${held} }
      - { facts: { canary: { home: service } }, run: resume, expect: ${held} }
      - { facts: { canary: { home: ok } }, run: resume, expect: { outcome: acted, chosen: [a] } }
`,
      [],
      policy,
    );
    expect(found).toMatchObject({ code: 0, stderr: '' });
  });

  test('shows the differences, with the line of the step', async () => {
    const found = await tested(`  - name: two
    given:
      entries: [{ dlqId: a, status: 400 }, { dlqId: b, labels: [no-auto] }, { dlqId: c }]
    steps:
      - run: resume
        expect:
          outcome: held
          chosen: [a, c]
          skipped: [{ guard: protected, reason: no-auto, count: 1 }]
          requests: [{ operation: resume-workflow-dlq, dlqIds: [c], overrides: { retries: 3 } }]
`);
    expect(found.code).toBe(1);
    const [, ...lines] = found.stdout.split('\n');
    expect(lines.join('\n')).toBe(`  FAILED  1 of 1 test
    two: step 1 (a_test.yaml:12)
      outcome:
        - held
        + acted
      chosen:
        - a
          c
      skipped:
          { guard: protected, reason: no-auto, count: 1 }
        + { guard: where, reason: permanent 400, count: 1 }
      requests[0].overrides:
        - { retries: 3 }
        + ${overrides}

`);
  });

  test('ends a test with its first failed step, and continues with the next test', async () => {
    const found = await tested(
      `  - name: stops
    steps:
      - { plan: resume, expect: { state: changes } }
      - { plan: resume, expect: { state: aborted } }
  - name: goes on
    steps: [{ plan: resume, expect: { state: nothing_to_do } }]
`,
      ['-o', 'json'],
    );
    expect(found.code).toBe(1);
    expect(JSON.parse(found.stdout)).toMatchObject({
      ok: false,
      files: [
        {
          tests: [
            {
              name: 'stops',
              ok: false,
              failed: {
                step: 0,
                line: 10,
                differences: [{ path: 'state', expected: 'changes', found: 'nothing_to_do' }],
              },
            },
            { name: 'goes on', ok: true },
          ],
        },
      ],
    });
  });

  test.each([
    ['a step that cannot be', '- { failAgain: [a] }', 'a was not resumed, so it cannot fail again'],
    ['an approval that nobody waits for', '- { approve: resume }', 'no plan of resume is pending approval'],
    ['an entry that is not there', '- { remove: [zz] }', 'entry zz does not exist, so it cannot be removed'],
  ])('reports the reason: %s', async (_what, step, why) => {
    const { code, stdout } = await tested(`  - name: x\n    steps:\n      ${step}\n`);
    expect(stdout).toContain(`x: step 1 (a_test.yaml:10)\n      ${why}\n`);
    expect(code).toBe(1);
  });

  test.each([
    ['an unknown key', 'run: resume, expct: {}', 'a_test.yaml:10:24', 'did you mean expect?'],
    ['a policy that is not there', 'run: resum', 'a_test.yaml:10:16', 'did you mean resume?'],
    ['an expectation of nothing', 'advance: 5m, expect: {}', 'a_test.yaml:10:24', 'add plan or run'],
    ['requests of a plan', 'plan: resume, expect: { requestCount: 0 }', 'requestCount', 'replace plan by run'],
    ['two decisions', 'plan: resume, run: resume', 'a_test.yaml:10:17', 'write two steps'],
    ['a step in which nothing happens', 'answers: [lost]', 'a_test.yaml:10', 'add one of advance'],
  ])('rejects %s, at its place', async (_what, step, place, help) => {
    const { code, stdout, stderr } = await tested(`  - name: x\n    steps:\n      - { ${step} }\n`);
    expect(code).toBe(1);
    expect(stderr).toContain(place);
    expect(stderr).toContain(help);
    expect(stdout).toContain('the file is invalid');
  });

  test('reports errors in the policies too, each in its file', async () => {
    writeFileSync(
      join(folder, 'p.yaml'),
      POLICY.replace('{ resource: workflow-dlq }', '{ resource: workflow-dlq }\n    where: entry.lables == 1'),
    );
    const { code, stderr } = await tested(`  - name: x\n    steps: [{ run: resume }]\n`, [], 'policyFiles: [p.yaml]\n');
    expect(stderr).toContain('p.yaml:6:18');
    expect(stderr).toContain('did you mean labels?');
    expect(code).toBe(1);
  });

  test('goes through all files, and fails when one does', async () => {
    writeFileSync(join(folder, 'good.yaml'), `${POLICY}tests: [{ name: x, steps: [{ plan: resume }] }]\n`);
    const { code, stdout } = await opsd(['test', join(folder, 'missing.yaml'), join(folder, 'good.yaml')]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/FAILED {2}the file is invalid[^]*SUCCESS {2}1 test/);
  });

  test('needs a file', async () => {
    expect((await opsd(['test'])).code).toBe(64);
  });
});

const overrides =
  '{ labels: [opsd:test:9b2d1998bbf993d1:1], retries: 0, flowControl: { key: opsd-resume, parallelism: 2, rate: 5, period: 1 } }';
