/** Reserves `first`, then ends at a named moment of reserving `second`. Arguments: the store, the moment. */
import { appendFileSync } from 'node:fs';
import type { AuditLog } from '#automate/ledger/audit-log.ts';
import { auditPathOf } from '#automate/ledger/audit-reader.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { openAuditLog } from '#storage/audit-file.ts';
import { openLedger } from '#storage/sqlite-ledger.ts';
import { openStore } from '#storage/sqlite.ts';
import { intentFor, NO_CAPS, resumeOf } from '../../support/ledger-facts.ts';

const [path, moment] = process.argv.slice(2) as [string, string];
const store = openStore(path);
const audit = openAuditLog(store, systemClock);
const die = (): void => void process.kill(process.pid, 'SIGKILL');

let isArmed = false;
const dying: AuditLog = {
  ...audit,
  append(entry) {
    if (!isArmed) return audit.append(entry);
    if (moment === 'before-record') die();
    if (moment === 'within-record') {
      appendFileSync(auditPathOf(path), '{"account":"production","acti');
      die();
    }
    const head = audit.append(entry);
    if (moment === 'before-commit') die();
    return head;
  },
};
const ledger = await openLedger(store, dying);
await intentFor(ledger, 'first');
isArmed = true;
const { ok } = await ledger.reserve(1, resumeOf('second'), 2_000, NO_CAPS);
// The request that the caller would send now.
process.stdout.write(ok ? 'sent' : 'refused', () => die());
