/** An audit log that is gone with its test, where tests look for it. */
export { memoryAudit } from '../../src/harness/memory-audit.ts';
