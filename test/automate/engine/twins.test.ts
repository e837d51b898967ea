/** Runs that look the same: facts about one never count against another. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { candidates } from '#automate/engine/decide/candidates.ts';
import { Rejections } from '#automate/engine/guard/rejections.ts';
import { GUARDS } from '#automate/guardrails/index.ts';
import { casesOf } from '../../support/property-cases.ts';
import { isCommon, stepsOf, takeStep } from './random-steps.ts';
import { HOUR, MINUTE, NEVER, planOf, run, sentIds, SETTLE, world, type World, settleAfter, ran } from './world.ts';

/** One policy run resumes one entry. */
const ONE = { policy: { limits: { maxPerRun: 1 } } };

const outcomes = async (w: World): Promise<readonly unknown[]> =>
  (await w.ledger.recentActions(10)).map(({ outcome }) => outcome);

async function settled(w: World): Promise<void> {
  await settleAfter(w, SETTLE);
}

describe('of two runs that look the same', () => {
  test('the one that was listed before is not a repeated failure of the other, and was never attempted', async () => {
    const w = await ran({ ...ONE, entries: [{ fingerprint: 'f-1' }, { fingerprint: 'f-1' }] });
    w.observe();
    await w.engine.settle(NEVER);
    expect(await outcomes(w)).toEqual(['accepted']);
    expect((await planOf(w)).chosen).toMatchObject([{ dlqId: 'dlq-002', attempt: 1 }]);
    w.restart();
    await settled(w);
    expect(await outcomes(w)).toEqual(['verified']);
  });

  test('the one that fails after the other was resumed is distinguished by its run id', async () => {
    const w = await ran({ ...ONE, entries: [{ fingerprint: 'f-1' }] });
    await w.clock.advance(MINUTE);
    w.dlq.add({ fingerprint: 'f-1', createdAt: w.clock.now() });
    expect((await planOf(w)).chosen).toMatchObject([{ dlqId: 'dlq-002', attempt: 1 }]);
    await settled(w);
    expect(await outcomes(w)).toEqual(['verified']);
  });

  test('a group with a ramp continues', async () => {
    const w = await ran({ ...ONE, guards: GUARDS, entries: [{ fingerprint: 'f-1' }, { fingerprint: 'f-1' }] });
    await settled(w);
    expect(await w.ledger.campaigns()).toMatchObject([{ state: 'ready', step: 2, verified: 1, halts: 0 }]);
    await run(w);
    expect(sentIds(w)).toEqual(['dlq-001', 'dlq-002']);
  });

  describe('where the response was lost', () => {
    async function lost(options: Parameters<typeof world>[0] = ONE): Promise<World> {
      const w = await ran({ ...options, entries: [{ fingerprint: 'f-1' }], answers: ['lost'] });
      await w.clock.advance(MINUTE);
      w.dlq.add({ fingerprint: 'f-1', createdAt: w.clock.now() });
      return w;
    }

    test('the outcome is unresolvable, so the action is neither verified nor failed, and its group neither grows nor halts', async () => {
      const w = await lost({ ...ONE, guards: GUARDS });
      await settled(w);
      const detail = 'the entry is gone, and a run that looks the same has failed since; it may be another run';
      expect(await w.ledger.recentActions(1)).toMatchObject([{ outcome: 'unresolvable', detail }]);
      expect(await w.ledger.campaigns()).toMatchObject([{ state: 'ready', step: 2, size: 1, judged: 0, halts: 0 }]);
      expect((await planOf(w)).chosen).toMatchObject([{ dlqId: 'dlq-002', attempt: 1 }]);
    });

    test.each([
      [
        'its delivery is in the log',
        (w: World) => void (w.facts = { resumeEnded: (_account, _resume, end) => end === 'delivered' }),
      ],
      [
        'the other one is the return of another resume',
        async (w: World) => {
          const { proposal, runId } = (await w.ledger.recentActions(1))[0]!;
          const other = { ...proposal, target: 'dlq-900', lineage: 'another' } as typeof proposal;
          const reserved = await w.ledger.reserve(runId, other, w.clock.now(), []);
          if (!reserved.ok) throw new Error(reserved.reason);
          await w.ledger.recordOutcome(reserved.intent.id, 'production', {
            at: w.clock.now(),
            outcome: 'accepted',
            newRunId: 'wfr-2',
          });
          await w.ledger.recordOutcome(reserved.intent.id, 'production', { at: w.clock.now(), outcome: 'verified' });
        },
      ],
      [
        'the other one carries a stamp',
        (w: World) => {
          const twin = w.dlq.entries.get('dlq-002')!;
          w.dlq.entries.set('dlq-002', { ...twin, labels: ['billing', `opsd:${w.ledger.instance}:another:1`] });
        },
      ],
    ])('it was applied where %s', async (_what, also) => {
      const w = await lost();
      also(w);
      await settled(w);
      expect((await w.ledger.recentActions(10)).find(({ proposal }) => proposal.target === 'dlq-001')).toMatchObject({
        outcome: 'confirmed_applied',
      });
    });

    test('it failed again where the log shows it', async () => {
      const w = await lost();
      w.facts = { resumeEnded: (_account, _message, end) => end === 'failed' };
      await settled(w);
      expect(await outcomes(w)).toEqual(['failed_again']);
    });

    test('a run that looked the same when it was resumed proves nothing', async () => {
      const w = world(ONE);
      w.dlq.add({ fingerprint: 'f-1' });
      w.dlq.add({ fingerprint: 'f-1', labels: ['of another policy'] });
      w.observe();
      w.dlq.answers = ['lost'];
      await run(w);
      w.restart();
      await settled(w);
      expect(await outcomes(w)).toEqual(['confirmed_applied']);
    });
  });
});

describe('of the entries of one run that keeps its id', () => {
  test('one that was listed before is not a repeated failure, over a restart too', async () => {
    const w = world(ONE);
    w.dlq.keepsRunIds = true;
    w.dlq.labelOverride = 'ignored';
    w.dlq.add({ workflowRunId: 'wfr-same' });
    w.dlq.add({ workflowRunId: 'wfr-same' });
    await run(w);
    w.restart();
    w.observe();
    await w.engine.settle(NEVER);
    expect(await outcomes(w)).toEqual(['accepted']);
    await settled(w);
    expect(await outcomes(w)).toEqual(['verified']);
  });

  test('one that was resumed later, though it was listed before, is not a repeated failure', async () => {
    const w = world(ONE);
    w.dlq.keepsRunIds = true;
    w.dlq.labelOverride = 'ignored';
    w.dlq.add({ workflowRunId: 'wfr-same' });
    w.dlq.add({ workflowRunId: 'wfr-same' });
    await run(w);
    await w.clock.advance(10 * MINUTE);
    await run(w);
    expect(sentIds(w)).toEqual(['dlq-001', 'dlq-002']);
    await w.engine.settle(NEVER);
    expect(await outcomes(w)).toEqual(['accepted', 'verified']);
  });

  test('one that the board showed while the plan was executed is not a repeated failure', async () => {
    const w = world();
    w.dlq.keepsRunIds = true;
    w.dlq.add({ workflowRunId: 'wfr-other' });
    w.dlq.add({ workflowRunId: 'wfr-same' });
    w.dlq.onResume = (dlqId) => {
      if (dlqId !== 'dlq-001') return;
      w.dlq.add({ workflowRunId: 'wfr-same', labels: ['of another policy'], createdAt: w.clock.now() });
      w.observe();
    };
    await run(w);
    w.observe();
    await w.engine.settle(NEVER);
    expect(await outcomes(w)).toEqual(['accepted', 'accepted']);
  });

  test.each([['good'], ['lost']] as const)(
    'one that came after is a repeated failure (response %s)',
    async (answer) => {
      const w = world(ONE);
      w.dlq.keepsRunIds = true;
      w.dlq.labelOverride = 'ignored';
      w.dlq.add({ workflowRunId: 'wfr-same' });
      w.dlq.answers = [answer];
      await run(w);
      await w.clock.advance(MINUTE);
      w.dlq.failAgain(0);
      await settled(w);
      expect(await outcomes(w)).toEqual(['failed_again']);
    },
  );
});

const step = stepsOf({
  run: [8, { answer: fc.constantFrom('good', 'lost', 'refused', 'never_arrived') }],
  wait: [6, { ms: fc.constantFrom(0, MINUTE, SETTLE, 11 * MINUTE, HOUR) }],
  settle: 3,
  observe: 3,
  restart: 3,
  delivered: 3,
  twin: [8, { body: fc.nat(1), isMeant: fc.boolean() }],
  return: [4, { index: fc.nat(8) }],
});

const SERVICE = fc.record({
  keepsRunIds: fc.boolean(),
  labelOverride: fc.constantFrom('replaces' as const, 'adds' as const, 'ignored' as const),
  pageSize: fc.integer({ min: 1, max: 4 }),
  lagMs: fc.constantFrom(0, MINUTE),
});

/** Bodies as the service shows them. A redacted one is a hash of the body. */
const BODIES = ['{}', 'REDACTED:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a'];

test('with any twins in any order, an unresumed run was never attempted, and a success did not fail again', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 30 }), SERVICE, async (steps, service) => {
      const w = world({ policy: { limits: { maxPerRun: 1, attempts: { max: 3, backoff: ['10m'] } } } });
      Object.assign(w.dlq, service);
      const untried = new Set<string>();
      const returned = new Set<number>();
      w.facts = {
        resumeEnded: (_account, { lineage, attempt }, end) =>
          w.dlq.sent.some(({ overrides, newRunId }, index) => {
            const isIt = overrides.labels?.[0]?.endsWith(`:${lineage}:${attempt}`) === true && newRunId !== undefined;
            return isIt && knowsDeliveries && (end === 'failed') === returned.has(index);
          }),
      };
      let knowsDeliveries = false;
      const twin = (body: number, isMeant: boolean): void => {
        const labels = [isMeant ? 'billing' : 'other'];
        untried.add(w.dlq.add({ fingerprint: BODIES[body]!, labels, createdAt: w.clock.now() }).dlqId);
      };
      twin(0, true);
      twin(0, true);
      for (const action of steps) {
        if (isCommon(action)) await takeStep(w, action, returned);
        else if (action.do === 'delivered') knowsDeliveries = !knowsDeliveries;
        else if (action.do === 'twin') twin(action.body, action.isMeant);
        else {
          w.dlq.answers = [action.answer];
          await run(w);
          for (const { dlqIds } of w.dlq.sent) untried.delete(dlqIds[0]!);
        }
        const known = await candidates('production', [...w.dlq.entries.values()], {
          ledger: w.ledger,
          rejections: new Rejections(),
        });
        for (const entry of known.entries)
          if (untried.has(entry.dlqId)) expect(known.attempts(entry), entry.dlqId).toBe(0);
        for (const { proposal, outcome } of await w.ledger.recentActions(100)) {
          if (outcome !== 'failed_again') continue;
          const sent = w.dlq.sent.findIndex(
            ({ dlqIds, newRunId }) => dlqIds[0] === proposal.target && newRunId !== undefined,
          );
          expect(returned.has(sent), `${proposal.target} did not fail again`).toBe(true);
        }
      }
      for (const { halts } of await w.ledger.campaigns()) expect(halts === 0 || returned.size > 0).toBe(true);
    }),
    { numRuns: casesOf(300) },
  );
});
