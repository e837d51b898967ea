/** The real ledger over a database in memory, where tests look for it. */
export { memoryLedger } from '#automate/policytest/memory-ledger.ts';
