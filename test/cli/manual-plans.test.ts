/** Commands that make, follow and cancel manual plans, against a real server. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ManualRequest, Refusal } from '#automate/ledger/commands.ts';
import type { ActionOutcome } from '#automate/ledger/intents.ts';
import type { Plan, RunOutcome } from '#foundation/domain/plan.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { tempDir } from '../support/temp-dir.ts';
import { action, engine, ledger, NOW, plan, proposal, serving, storedPlan, world } from '../operate/http/world.ts';
import { opsd } from './terminal.ts';
import { LOCAL_USER } from '../support/local-user.ts';

const HOUR = 3_600_000;

interface Daemon {
  readonly socket: readonly string[];
  readonly asked: ManualRequest[];
  readonly done: unknown[];
}

interface Given {
  readonly outcome?: RunOutcome;
  readonly plan?: Partial<Plan>;
  readonly refuse?: (request: ManualRequest) => Refusal | undefined;
  /** State and outcome of the only action when the progress is read. */
  readonly state?: 'approved' | 'applied' | 'cancelled';
  readonly known?: ActionOutcome;
}

async function daemon(given: Given = {}): Promise<Daemon> {
  const asked: ManualRequest[] = [];
  const done: unknown[] = [];
  const manual = { by: LOCAL_USER, reason: 'go', selection: { action: 'resume', label: ['a'] } } as const;
  const shown = plan({ policy: 'manual:9f3c2a', manual, ...given.plan });
  const result = { outcome: given.outcome ?? 'acted', matched: 183, acted: 1, backlog: 182 } as const;
  const stored = storedPlan({ plan: shown, state: given.state ?? 'applied', targets: ['a'] });
  const acted = [
    action({ proposal: proposal({ policy: 'manual:9f3c2a', target: 'a' }), outcome: given.known ?? 'verified' }),
  ];
  const deps = world({
    ledger: ledger({ storedPlan: async () => stored, actionsOf: async () => acted }),
    engine: engine({
      planManually: async (request) => {
        asked.push(request);
        return given.refuse?.(request) ?? { ok: true, plan: shown };
      },
      apply: async (id, person) => (done.push(['apply', id, person]), { ok: true, plan: shown, result, stored }),
      cancel: async (id, person) => (
        done.push(['cancel', id, person]),
        { ok: true, plan: { ...stored, state: 'cancelled' } }
      ),
    }),
  });
  const { address } = await serving(deps, { socketPath: join(tempDir(), 's') });
  return { socket: ['--socket', address], asked, done };
}

const REASON = ['--reason', 'outage over'];

describe('opsd dlq resume', () => {
  test('shows the plan, asks, applies it, and says how to continue', async () => {
    const { socket, asked, done } = await daemon();
    const line = ['dlq', 'resume', '--label', 'billing', '--label', 'shop', '--since', '2h', '--account', 'production'];
    const set = ['--set', 'limits.maxPerRun=50'];
    const ended = await opsd([...line, ...set, ...REASON, ...socket], { answers: ['y'] });
    expect(ended.code).toBe(0);
    expect(asked).toEqual([
      {
        by: LOCAL_USER,
        reason: 'outage over',
        selection: { action: 'resume', account: 'production', label: ['billing', 'shop'], fromDate: NOW - 2 * HOUR },
        overrule: { 'limits.maxPerRun': '50' },
      },
    ]);
    expect(done).toEqual([['apply', '9f3c2a', { by: LOCAL_USER, reason: 'outage over' }]]);
    expect(ended.stdout).toBe('Plan 9f3c2a: acted (183 matched: 1 acted on, 182 left)\n');
    expect(ended.stderr).toContain(`by ${LOCAL_USER}: go`);
    expect(ended.stderr).toContain('the plan covers all 183 entries, and later runs do the rest? [y/N]');
    expect(ended.stderr).toContain('opsd pause --policy manual:9f3c2a --reason TEXT');
    expect(ended.stderr).toContain('opsd cancel 9f3c2a --reason TEXT');
  });

  test('sends every filter under the name of the service', async () => {
    const { socket, asked } = await daemon();
    const filters = ['--workflow-url', 'https://a', '--workflow-run-id', 'w', '--flow-control-key', 'k'];
    const more = ['--failure-function-state', 'CALLBACK_FAIL', '--caller-ip', '10.0.0.1', '--to-date', '2026-11-18'];
    await opsd(['dlq', 'resume', 'dlq-1', 'dlq-1', ...filters, ...more, ...REASON, ...socket, '--yes']);
    expect(asked[0]?.selection).toEqual({
      action: 'resume',
      ids: ['dlq-1'],
      workflowUrl: ['https://a'],
      workflowRunId: ['w'],
      flowControlKey: ['k'],
      failureFunctionState: ['CALLBACK_FAIL'],
      callerIp: ['10.0.0.1'],
      toDate: Date.UTC(2026, 10, 18),
    });
  });

  test('does nothing without a confirmation', async () => {
    const { socket, done } = await daemon();
    const line = ['dlq', 'resume', 'dlq-1', ...REASON, ...socket];
    expect(await opsd(line, { answers: ['n'] })).toMatchObject({ code: 1, stdout: '' });
    expect((await opsd(line)).stderr).toContain('confirmation needs a terminal; nothing was done');
    expect(done).toEqual([]);
  });

  test.each([
    ['nothing matches', { state: 'nothing_to_do', matched: 0, backlog: 0, chosen: [] }, 0],
    ['a guard aborts', { state: 'aborted', stopped: { guard: 'filter_mismatch', reason: 'x' }, chosen: [] }, 4],
    ['a guard holds it and nothing matches', { state: 'held', matched: 0, backlog: 0, chosen: [] }, 3],
  ] as const)('applies nothing if %s', async (_what, over, code) => {
    const { socket, done } = await daemon({ plan: over });
    expect(await opsd(['dlq', 'resume', 'dlq-1', ...REASON, ...socket, '--yes'])).toMatchObject({ code, stdout: '' });
    expect(done).toEqual([]);
  });

  test.each([
    ['applied', 'verified', 0, 'finished, 1 sent, 1 verified, 0 left'],
    ['applied', 'failed_again', 3, 'finished, 1 sent, 0 verified, 1 failed again, 0 left'],
    ['cancelled', 'verified', 4, 'cancelled, 1 sent, 1 verified, 0 left'],
  ] as const)('--wait of a plan that is %s with %s exits with %i %s', async (state, known, code, text) => {
    const { socket } = await daemon({ state, known });
    const line = ['dlq', 'resume', 'dlq-1', ...REASON, ...socket, '--yes', '--wait'];
    const ended = await opsd(line, { clock: systemClock });
    expect(ended).toMatchObject({ code, stdout: `Plan 9f3c2a: ${text}\n` });
    const json = JSON.parse((await opsd([...line, '-o', 'json'], { clock: systemClock })).stdout) as object;
    expect(json).toMatchObject({
      plan: '9f3c2a',
      policy: 'manual:9f3c2a',
      result: { outcome: 'acted' },
      progress: { state: text.split(',')[0] },
    });
  });

  test.each([
    ['held', 3],
    ['halted', 4],
    ['failed', 1],
  ] as const)('exits with the code of a run that was %s', async (outcome, code) => {
    const { socket } = await daemon({ outcome });
    expect(await opsd(['dlq', 'resume', 'dlq-1', ...REASON, ...socket, '--yes'])).toMatchObject({ code });
  });
});

describe('opsd dlq delete', () => {
  const other: Refusal = { ok: false, code: 'other_queue', message: 'It is a message.' };

  test('of ids asks the daemon which DLQ has them', async () => {
    const { socket, asked } = await daemon({
      refuse: ({ selection }) => (selection.action === 'delete' ? other : undefined),
    });
    expect((await opsd(['dlq', 'delete', 'd-1', ...REASON, ...socket, '--yes'])).code).toBe(0);
    expect(asked.map(({ selection }) => selection.action)).toEqual(['delete', 'delete-messages']);
  });

  test.each([
    [['--queue', 'message', '--label', 'a'], 'delete-messages', 'message'],
    [['--queue', 'workflow', 'd-1'], 'delete', 'workflow'],
    [['--workflow-url', 'https://a'], 'delete', undefined],
    [['--queue', 'workflow', '--flow-control-key', 'a'], 'delete', 'workflow'],
    [['--failure-function-state', 'CALLBACK_FAIL', '--label', 'a'], 'delete', undefined],
    [['--response-status', '503'], 'delete-messages', undefined],
  ])('%j decides', async (words, of, queue) => {
    const { socket, asked } = await daemon();
    await opsd(['dlq', 'delete', ...words, ...REASON, ...socket, '--yes']);
    expect(asked.map(({ selection }) => [selection.action, selection.queue])).toEqual([[of, queue]]);
  });
});

test('the filter for a destination is not the address of the daemon', async () => {
  const { socket, asked } = await daemon();
  const given = ['--destination', 'https://old.example.com/hook', ...REASON, ...socket, '--yes'];
  expect(await opsd(['dlq', 'prune', '--to-date', '14d', ...given])).toMatchObject({ code: 0 });
  expect(await opsd(['dlq', 'delete', ...given])).toMatchObject({ code: 0 });
  const url = ['https://old.example.com/hook'];
  expect(asked.map(({ selection }) => selection)).toEqual([
    { action: 'prune', url, toDate: NOW - 14 * 24 * HOUR },
    { action: 'delete-messages', url },
  ]);
});

test('opsd dlq prune sends its filter and its time', async () => {
  const { socket, asked } = await daemon();
  const prune = (...words: string[]) => opsd(['dlq', 'prune', ...words, ...REASON, ...socket, '--yes']);
  expect(await prune('--queue-name', 'q', '--to-date', '14d')).toMatchObject({ code: 0 });
  expect(asked[0]?.selection).toEqual({ action: 'prune', queueName: ['q'], toDate: NOW - 14 * 24 * HOUR });
});

test('opsd apply of a cancelled plan names the command that makes another', async () => {
  const { socket, done } = await daemon({ state: 'cancelled' });
  const { code, stderr } = await opsd(['apply', '9f3c2a', ...socket, '--yes']);
  expect(code).toBe(1);
  expect(stderr).toBe(`opsd: plan 9f3c2a was cancelled; \`opsd dlq resume ${socket.join(' ')}\` makes a new one\n`);
  expect(done).toEqual([]);
});

test('opsd cancel asks', async () => {
  const { socket, done } = await daemon();
  expect(await opsd(['cancel', '9f3c2a', ...REASON, ...socket], { answers: ['n'] })).toMatchObject({ code: 1 });
  expect(done).toEqual([]);
  const ended = await opsd(['cancel', '9f3c2a', ...REASON, ...socket], { answers: ['y'] });
  expect(ended).toMatchObject({ code: 0, stdout: 'Plan 9f3c2a is cancelled.\n' });
  expect(done).toEqual([['cancel', '9f3c2a', { by: LOCAL_USER, reason: 'outage over' }]]);
});
