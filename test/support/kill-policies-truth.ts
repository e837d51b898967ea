/** Checks of the service's request record and the ledger, for daemons that were killed during actions. */
import type { DatabaseSync } from 'node:sqlite';
import { expect } from 'vitest';
import type { RunningEmulator } from '#emulator/emulator.ts';
import type { RecordedRequest } from '#emulator/control/request-recorder.ts';

export const ACCOUNT = 'acc-1';

export const CAPS = {
  resume: { hour: 6, day: 60 },
  runDelete: { hour: 2, day: 20 },
  messageDelete: { hour: 2, day: 20 },
  prune: { hour: 4, day: 30 },
  attempts: 2,
  ceilingUsd: 2_000,
  raisesPerMonth: 31,
} as const;

export const START_BUDGET = 100;

const MISCOUNTED = `
  SELECT id, policy, acted FROM runs
  WHERE finished_at IS NOT NULL AND policy LIKE 'resume%' AND acted <> (
    SELECT count(*) FROM intents
    WHERE run_id = runs.id
      AND (SELECT outcome FROM outcomes WHERE intent_id = intents.id ORDER BY id LIMIT 1) = 'accepted')`;

/** A write as the service received it. */
export type Sent = Pick<RecordedRequest, 'method' | 'path' | 'status' | 'at' | 'headers' | 'lost'>;

interface Act {
  readonly action: string;
  readonly target: string;
  /** Epoch milliseconds of the intent. */
  readonly at: number;
  readonly active: boolean;
  readonly outcome: string | undefined;
}

const HOUR = 3_600_000;
/** The window contains the intent slightly before its request reaches the service. */
const SLACK = 60_000;
const WITHOUT_EFFECT = new Set<string | undefined>(['rejected', 'confirmed_not_applied']);

export function judge(sent: readonly Sent[], db: DatabaseSync, emulator: RunningEmulator) {
  const acts = actsOf(db);
  const [resumes, runDeletes, messageDeletes, prunes, budgets] = byKind(sent);
  expect(resumes.length + runDeletes.length + messageDeletes.length + prunes.length + budgets.length).toBe(sent.length);

  for (const [what, requests, action] of [
    ['resumed', resumes, 'workflow-dlq.resume'],
    ['deleted', runDeletes, 'workflow-dlq.delete'],
  ] as const) {
    const intents = Map.groupBy(
      acts.filter((act) => act.action === action),
      ({ target }) => target,
    );
    for (const [id, same] of Map.groupBy(requests, idOf)) {
      const of = intents.get(id) ?? [];
      const effective = same.filter(isDone);
      expect(effective.length, `${id} was ${what} so many times`).toBeLessThanOrEqual(1);
      expect(same.length, `requests for ${id}, of so many intents`).toBeLessThanOrEqual(of.length);
      // Every request but the last provably did nothing. The last one also counts if it had no effect.
      const claims = of.filter(({ active }) => active);
      expect(claims.length, `active claims of ${id}`).toBeLessThanOrEqual(1);
      if (effective.length === 1) expect(claims.length, `the ledger knows that ${id} was ${what}`).toBe(1);
    }
  }
  for (const act of acts) {
    expect(act.active, `${act.target} ended as ${act.outcome}`).toBe(!WITHOUT_EFFECT.has(act.outcome));
    expect(act.outcome, `${act.action} of ${act.target}`).not.toBe('unknown');
  }

  // Attempts by lineage, from the stamps that travel with the runs.
  const lineages = Map.groupBy(resumes.filter(isDone), lineageOf);
  for (const [lineage, same] of lineages) {
    expect(same.length, `resumes of ${lineage}`).toBeLessThanOrEqual(CAPS.attempts);
  }

  within('resumes', resumes, CAPS.resume, () => 1);
  within('run deletes', runDeletes, CAPS.runDelete, () => 1);
  within('message deletes', deletesByIntent(messageDeletes, acts), CAPS.messageDelete, () => 1);
  within('pruned', prunes, CAPS.prune, (one) => Number(queryOf(one).get('count')));

  // A page is one intent, and an intent one request.
  expect(prunes.length).toBeLessThanOrEqual(acts.filter(({ action }) => action === 'message-dlq.prune').length);
  const raises = acts.filter(({ action, active }) => action === 'budget.raise' && active);
  const { budgetUsd } = emulator.accounts.byId(ACCOUNT)!;
  expect(budgetUsd).toBeLessThanOrEqual(CAPS.ceilingUsd);
  expect([START_BUDGET, ...raises.map(({ target }) => Number(target.split('/').at(-1)))]).toContain(budgetUsd);
  const learned = new Set(
    db
      .prepare('SELECT dlq_id FROM dead_letters')
      .all()
      .map((row) => String(row['dlq_id'])),
  );
  expect(messageDeletes.map(idOf).filter((id) => !learned.has(id) && !isKnown(acts, id))).toEqual([]);
  const pauses = db.prepare('SELECT scope, reason FROM pauses').all();
  expect(pauses, 'outcomes that do not match the plan, or more done than requested').toEqual([]);
  expect(db.prepare(`SELECT detail FROM runs WHERE outcome = 'failed'`).all()).toEqual([]);
  expect(db.prepare(MISCOUNTED).all(), 'runs whose counts are not those of their intents').toEqual([]);

  const effects = {
    resumed: resumes.filter(isDone).length,
    runsDeleted: runDeletes.filter(isDone).length,
    messagesDeleted: messageDeletes.filter(isDone).length,
    pagesPruned: prunes.filter(isDone).length,
    budgetSet: budgets.filter(isDone).length,
    raises: raises.length,
  };
  const outcomes: Record<string, number> = {};
  for (const { outcome = 'none' } of acts) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  return { effects, answersLost: sent.filter(({ lost }) => lost).length, outcomes };
}

function isKnown(acts: readonly Act[], id: string): boolean {
  return acts.some(({ action, target }) => action === 'message-dlq.delete' && target === id);
}

function byKind(sent: readonly Sent[]) {
  const of = (method: string, path: string, more: (request: Sent) => boolean = () => true): readonly Sent[] =>
    sent.filter((one) => one.method === method && one.path.split('?')[0]!.startsWith(path) && more(one));
  const hasIds = (one: Sent): boolean => queryOf(one).has('dlqIds');
  return [
    of('POST', '/v2/workflows/dlq/resume', hasIds),
    of('DELETE', '/v2/workflows/dlq', hasIds),
    of('DELETE', '/v2/dlq', hasIds),
    of('DELETE', '/v2/dlq', (one) => !hasIds(one) && queryOf(one).has('toDate') && queryOf(one).has('count')),
    of('PATCH', '/v2/msgsvc/update-budget/'),
  ] as const;
}

/** Checks that no window exceeds its cap, across all killed processes. */
function within(
  what: string,
  sent: readonly Sent[],
  caps: { hour: number; day: number },
  items: (one: Sent) => number,
) {
  const done = sent.filter(isDone);
  for (const [windowMs, limit] of [
    [HOUR, caps.hour],
    [24 * HOUR, caps.day],
  ] as const) {
    for (const first of done) {
      const inWindow = done.filter(({ at }) => at >= first.at && at < first.at + windowMs - SLACK);
      const sum = inWindow.reduce((total, one) => total + items(one), 0);
      expect(sum, `${what} within ${windowMs / HOUR} h of ${new Date(first.at).toISOString()}`).toBeLessThanOrEqual(
        limit,
      );
    }
  }
}

/**
 * Returns deletes by intent. A delete of one message by id with an unknown outcome is repeated once, possibly hours
 * later. It counts once, in the window of its intent.
 */
function deletesByIntent(sent: readonly Sent[], acts: readonly Act[]): readonly Sent[] {
  return [...Map.groupBy(sent.filter(isDone), idOf)].map(([id, [first]]) => {
    const intent = acts.find(({ target, active }) => target === id && active);
    expect(intent, `the ledger knows that ${id} was deleted`).toBeDefined();
    return { ...first!, at: intent!.at };
  });
}

function actsOf(db: DatabaseSync): Act[] {
  const rows = db
    .prepare(
      `SELECT action, target, at, active,
         (SELECT outcome FROM outcomes WHERE intent_id = intents.id ORDER BY id DESC LIMIT 1) AS outcome
       FROM intents ORDER BY id`,
    )
    .all();
  return rows.map((row) => ({
    action: String(row['action']),
    target: String(row['target']),
    at: Number(row['at']),
    active: row['active'] === 1,
    outcome: row['outcome'] === null ? undefined : String(row['outcome']),
  }));
}

function isDone({ status }: Sent): boolean {
  return status === 200;
}

function queryOf({ path }: Sent): URLSearchParams {
  return new URL(path, 'http://service').searchParams;
}

function idOf(sent: Sent): string {
  return queryOf(sent).getAll('dlqIds').join();
}

function lineageOf({ headers }: Sent): string {
  const labels = Object.values(headers).flat().join(',');
  return /opsd:[\w-]+:([\w-]+):\d+/.exec(labels)?.[1] ?? 'no stamp';
}
