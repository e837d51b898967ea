import { expect, test } from 'vitest';
import type { AuditLog } from '#automate/ledger/audit-log.ts';
import { countedAudit } from '#automate/ledger/counted-audit.ts';
import { memoryAudit } from '#storage/memory-audit.ts';

test('counts written and failed records, and delegates all else to the log behind it', async () => {
  const log = memoryAudit();
  let problem: string | undefined;
  const fragile: AuditLog = {
    ...log,
    get problem() {
      return problem;
    },
    append(entry) {
      if (problem !== undefined) throw new Error(problem);
      return log.append(entry);
    },
  };
  const { audit, counts } = countedAudit(fragile);
  expect(counts()).toEqual({ records: 0, failures: 0 });
  expect(audit.append({ type: 'a' })).toEqual({ sequence: 1, hash: '' });
  problem = 'disk full';
  expect(() => audit.append({ type: 'b' })).toThrow('disk full');
  expect(audit.problem).toBe('disk full');
  expect(counts()).toEqual({ records: 1, failures: 1 });
  expect(audit.head()).toEqual({ sequence: 1, hash: '' });
  expect((await audit.verify()).records).toBe(1);
});
