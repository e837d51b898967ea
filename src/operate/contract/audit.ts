/** The audit log: its search, and the verification of its chain. Field names are stable. */
import { z } from 'zod';
import type { AuditHead } from '#automate/ledger/audit-log.ts';
import { cursorParameter, limitParameter, pastParameter, textParameter } from './parameters.ts';
import { route } from './route.ts';
import * as s from './schema.ts';

const auditRecord = s.named(
  'AuditRecord',
  s.object({
    sequence: s.integer(),
    at: s.time(),
    type: s.text(),
    policy: s.opt(s.text()),
    account: s.opt(s.text()),
    by: s.opt(s.text('Operator who caused it.')),
    reason: s.opt(s.text()),
    // The next record contains it.
    hash: s.text(),
    details: s.mapOf(s.anything(), 'Other fields of the record.'),
  }),
);
export type AuditRecordView = s.Infer<typeof auditRecord>;

const auditHead = s.named(
  'AuditHead',
  s.objectOf<AuditHead>({ sequence: s.integer(), hash: s.text() }, 'Last record of the audit log.'),
);

const verification = s.named(
  'AuditVerification',
  s.object({
    at: s.time(),
    isIntact: s.flag('True if no record was changed and the last line is whole.'),
    tookMs: s.span(),
    records: s.count('Verified records.'),
    head: s.opt(auditHead),
    // First changed line, counted from 1, or missing records at the end.
    finding: s.opt(s.object({ file: s.text(), line: s.integer(), problem: s.text() })),
    isTorn: s.flag('True if the last line has no end.'),
  }),
);
export type AuditVerification = s.Infer<typeof verification>;

/** The head is null while the log is empty. */
export const getAuditHead = route('GET /api/v1/audit/head', {
  id: 'getAuditHead',
  summary: 'Last record of the audit log',
  role: 'viewer',
  answer: s.object({ head: s.orNull(auditHead) }),
});

export const getAudit = route('GET /api/v1/audit', {
  id: 'searchAudit',
  summary: 'Records of the audit log, newest first',
  role: 'viewer',
  query: z.strictObject({
    type: textParameter('Type of the records, or its first part: `run` finds `run.begun`.'),
    policy: textParameter('Only records of this policy.'),
    account: textParameter('Only records of this account.'),
    by: textParameter('Only records that this operator caused.'),
    since: pastParameter('Only records since this time'),
    q: textParameter('Text that a value of the record contains, regardless of case.'),
    limit: limitParameter({ standard: 50, max: 500 }),
    /** Sequence of a record, or file and offset. */
    cursor: cursorParameter(/^\d{1,20}(?:\.\d{1,15})?$/),
  }),
  answer: s.object({
    at: s.time(),
    // A page may be empty and have a cursor.
    records: s.listOf(auditRecord),
    damaged: s.count('Matching lines of this page that are damaged.'),
    cursor: s.cursor,
  }),
  errors: [503],
});
export type AuditView = s.Infer<typeof getAudit.answer>;

export const getAuditVerification = route('GET /api/v1/audit/verify', {
  id: 'verifyAudit',
  summary: 'Verification of the audit log’s chain',
  role: 'viewer',
  isLong: true,
  answer: verification,
  errors: [503],
});
