/** An audit log that is gone with its test, where tests look for it. */
export { memoryAudit } from '#automate/policytest/memory-audit.ts';
