/** Checks of the audit log: its chain, and that it has the same intents and outcomes as the ledger. */
import type { DatabaseSync } from 'node:sqlite';
import { auditPathOf, readAudit, verifyAudit } from '#automate/ledger/audit-reader.ts';
import { NOT_COMMITTED, type AuditRecord } from '#automate/ledger/audit-log.ts';
import { readHead } from '#storage/audit-head.ts';
import type { Books } from './subject.ts';
import { none } from './violation.ts';

export async function checkAudit(store: string, db: DatabaseSync): Promise<void> {
  const path = auditPathOf(store);
  const { finding } = await verifyAudit(path, { known: readHead(db) });
  none('the audit chain is whole', finding === undefined ? [] : [finding]);
  const records: AuditRecord[] = [];
  for await (const record of readAudit(path)) records.push(record);
  checkTold(records, db);
}

/** Checks that the audit log and the ledger have the same runs, intents and outcomes. */
export function checkTold(records: readonly AuditRecord[], db: Books): void {
  const lost = new Set(records.filter(({ type }) => type === NOT_COMMITTED).map((record) => record['record']));
  const told = records.flatMap(({ type, sequence, run, intent, outcome = 'intent', trigger }) => {
    if (lost.has(sequence)) return [];
    // The one record of a run that did nothing has its trigger.
    if (trigger !== undefined && run !== undefined) return `${String(run)} run`;
    return ['intent', 'outcome'].includes(type) ? `${String(intent)} ${String(outcome)}` : [];
  });
  const kept = db
    .prepare(`SELECT id, 'intent' AS outcome FROM intents UNION ALL SELECT intent_id, outcome FROM outcomes
       UNION ALL SELECT id, 'run' FROM runs`)
    .all()
    .map(({ id, outcome }) => [id, outcome].join(' '));
  const different = (one: readonly string[], other: readonly string[]): readonly string[] => {
    const left = [...other];
    return one.filter((text) => {
      const at = left.indexOf(text);
      if (at >= 0) left.splice(at, 1);
      return at < 0;
    });
  };
  none(
    'the audit log has what the ledger has',
    different(kept, told).map((missing) => ({ missing })),
  );
  none(
    'the audit log has only what the ledger has',
    different(told, kept).map((surplus) => ({ surplus })),
  );
}
