/** Checks of the service's request record and the ledger, for daemons that were killed during actions. */
import type { DatabaseSync } from 'node:sqlite';
import { expect } from 'vitest';
import { actsOf, checkEffects } from '../simulation/effects.ts';
import type { Sent } from '../simulation/service.ts';

/** Checks effects as the simulation does, and that nothing is open or in doubt any more. */
export function judge(sent: readonly Sent[], db: DatabaseSync) {
  checkEffects(sent, db);
  const acts = actsOf(db);
  expect(acts.filter(({ outcome }) => outcome === 'unknown')).toEqual([]);
  const pauses = db.prepare('SELECT scope, reason FROM pauses').all();
  expect(pauses, 'outcomes that do not match the plan, or more done than requested').toEqual([]);
  expect(db.prepare(`SELECT detail FROM runs WHERE outcome = 'failed'`).all()).toEqual([]);
  const effects = sent.filter(({ status }) => status === 200);
  const outcomes: Record<string, number> = {};
  for (const { outcome } of acts) outcomes[outcome ?? 'none'] = (outcomes[outcome ?? 'none'] ?? 0) + 1;
  return { resumed: effects.filter(({ method }) => method === 'POST').length, outcomes };
}
