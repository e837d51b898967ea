/**
 * The benches start and print their figures, also those that `bench:drift` compares. Here the sizes are tiny, and the
 * figures mean nothing. The bench of replicas takes minutes; it is in test/soak.
 */
import { expect, test } from 'vitest';
import { unprinted, type BenchRun } from '../support/bench-prints.ts';

const RUNS: readonly BenchRun[] = [
  {
    script: 'incidents',
    sizes: { ENTRIES: 200, ROUNDS: 1, WORKFLOWS: 3 },
    prints: [/^first page +[\d.]+ ms +[\d.]+ × floor$/m, /^incident with \d+ members +[\d.]+ ms +[\d.]+ × floor$/m],
  },
  {
    script: 'ingest',
    sizes: { ENTRIES: 200, ROUNDS: 1, BYTES: 1_000 },
    prints: [/^counted, committed, nothing joined(?: +[\d.]+){6}$/m, /^resident memory after .*: [\d ]+ MB$/m],
  },
  {
    script: 'policy',
    sizes: { ENTRIES: 200, ROUNDS: 1, WORKFLOWS: 3 },
    prints: [/^CPU of one plan: median \d+ ms \(\d+ to \d+\), \d+ plans$/m, /^resident at most \d+ MB, \d+ MB of it/m],
  },
  {
    script: 'pages',
    sizes: { ENTRIES: 200, ROUNDS: 1 },
    prints: [/^floor: the health probe +[\d.]+ ms +at most [\d.]+ ms +CPU [\d.]+ ms +\d+ kB/m],
  },
  {
    script: 'scrape',
    sizes: { SERIES: 1_000, ROUNDS: 1, MEMORY: 'no' },
    prints: [/^prom-client(?: +[\d.]+){10} +[\d.]+ MB$/m],
  },
  {
    script: 'freshness',
    sizes: { OBSERVED_MS: 1_000, LOGS_EVERY_MS: 1_000, ACCOUNTS: 2, BACKLOG: 300 },
    prints: [/^at rest, 2 accounts +\d+(?: +[\d.]+ s){3}/m, /: 300 entries waited; fresh again after [\d.]+ s$/m],
  },
  {
    script: 'emulator publishes',
    sizes: { MESSAGES: 10 },
    prints: [/^through the emulator, --data +\d+ +\d+ +\d+ MB$/m],
  },
  {
    script: 'emulator dead-letters',
    sizes: { ENTRIES: 500, DEAD_LETTERS: 200, BODY_BYTES: 100 },
    prints: [/^started from the folder in [\d.]+ s; \d+ MB resident$/m, /^no filter \(floor\)(?: +[\d.]+ ms){7}$/m],
  },
  {
    script: 'emulator retention',
    sizes: { PASSED: 20 },
    prints: [/^after 8 +\d+ MB resident, [\d.]+ s$/m],
  },
];

test.each(RUNS)('the bench $script prints its figures', async (run) => {
  expect(await unprinted(run)).toEqual([]);
});
