/**
 * Planning over a full workflow DLQ: the real `decide` (listing, expressions, guards, campaigns, caps) over a client
 * that returns pages of 100, and the real ledger on disk with a history of these runs. The pages are built beforehand,
 * so that the daemon's own work is measured. Reports the CPU time of the process, and its peak resident memory.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createActions } from '#automate/actions/index.ts';
import type { Page, ServiceClient, WorkflowDlqQuery } from '#service/api.ts';
import type { Proposal } from '#foundation/domain/plan.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { createEngine } from '#automate/engine/engine.ts';
import { GUARDS } from '#automate/guardrails/index.ts';
import { memoryAudit } from '#storage/memory-audit.ts';
import { ObservationBoard } from '#observe/observations/board.ts';
import { EventBus } from '#foundation/events/events.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { compilePolicy } from '#automate/policies/compile-policy.ts';
import { engineSettings, policySettings } from '#automate/policies/settings.ts';
import { openStore } from '#storage/sqlite.ts';
import { openLedger } from '#storage/sqlite-ledger.ts';
import { figures } from './measure.ts';

const ENTRIES = Number(process.env['ENTRIES'] ?? 100_000);
/** Entries whose runs were resumed before, so that the ledger has a lineage of each. */
const HISTORY = Number(process.env['HISTORY'] ?? ENTRIES / 5);
const ROUNDS = Number(process.env['ROUNDS'] ?? 5);
const WORKFLOWS = Number(process.env['WORKFLOWS'] ?? 40);
const PAGE = 100;
const NOW = Date.UTC(2026, 2, 2, 10);
const HOUR = 3_600_000;

const folder = mkdtempSync(join(tmpdir(), 'opsd-bench-policy-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

const clock = new ManualClock(NOW);
const events = new EventBus();
const store = openStore(join(folder, 'opsd.db'));
const ledger = await openLedger(store, memoryAudit());
const entries = Array.from({ length: ENTRIES }, (_, index) => entryOf(index));
writeHistory();

const policies = [policyOf('billing', 'billing'), policyOf('everything', undefined), policyOf('mail', 'mail')];
const board = new ObservationBoard(clock);
board.register({ account: 'main', collector: 'workflowDlq', schedule: '', intervalMs: 1, maxStalenessMs: HOUR });
board.publish({ account: 'main', collector: 'workflowDlq', at: NOW, rows: entries, dropped: 0 }, 1);

const engine = createEngine({
  policies,
  settings: engineSettings.parse({}),
  accounts: new Map([['main', { mode: 'enforce', dlqRetentionMs: 168 * HOUR }]]),
  actions: createActions(new Map([['main', pagedClient()]]), { clock, events, accountIds: new Map() }),
  ledger,
  board,
  facts: {
    deliveries: () => ({ delivered: 990, all: 1_000 }),
    refusedAt: () => undefined,
    clockSkewMs: () => 0,
    steadySince: () => -Infinity,
    preconditions: async () => {
      throw new Error('no policy here has preconditions');
    },
    budget: async () => ({ spend: { fresh: false }, changes: [] }),
    dlqMessages: () => undefined,
    resumeEnded: () => false,
  },
  clock,
  events,
  guards: GUARDS,
  killSwitch: () => undefined,
  runSoon: () => undefined,
});

const atRest = process.memoryUsage.rss() / 1_048_576;
const cpu: number[] = [];
for (let round = 0; round < ROUNDS; round++) {
  const before = process.cpuUsage();
  const planned = await engine.plan('everything', { by: 'bench', keep: false }, new AbortController().signal);
  const { user, system } = process.cpuUsage(before);
  cpu.push((user + system) / 1_000);
  if (!planned.ok) throw new Error(planned.message);
  const { plan } = planned;
  if (plan.read?.entries !== ENTRIES || plan.read.pages !== ENTRIES / PAGE) throw new Error('not all was read');
  if (round === 0) {
    const left = plan.skipped.map(({ guard, reason, count }) => `${count} ${guard} (${reason})`).join(', ');
    console.log(
      `${plan.state}: ${plan.matched} of ${ENTRIES} matched in ${plan.campaigns.length} groups; left out: ${left}`,
    );
  }
}
const { min, median, max } = figures(cpu);
const resident = process.resourceUsage().maxRSS / 1_024;
console.log(
  `CPU of one plan: median ${median.toFixed(0)} ms (${min.toFixed(0)} to ${max.toFixed(0)}), ${ROUNDS} plans`,
);
console.log(
  `resident at most ${resident.toFixed(0)} MB, ${atRest.toFixed(0)} MB of it before: the pages, and ${HISTORY} intents`,
);
store[Symbol.dispose]();

function policyOf(name: string, label: string | undefined) {
  return compilePolicy(
    policySettings.parse({
      name,
      account: 'main',
      mode: 'enforce',
      select: { resource: 'workflow-dlq', ...(label !== undefined && { anyLabel: [label] }) },
      where: 'entry.cause == "transient" && !entry.labels.exists(l, l.startsWith("manual:"))',
      action: { type: 'workflow-dlq.resume' },
    }),
    'bench.yaml:1',
  );
}

/**
 * Builds an entry of one of 40 workflows (or WORKFLOWS). Every fifth was resumed before and carries its stamp. Some
 * fail permanently or are protected.
 */
function entryOf(index: number): WorkflowDlqEntry {
  const wasResumed = index < HISTORY;
  return {
    dlqId: `dlq-${index}`,
    workflowRunId: `wfr-${index}`,
    workflowUrl: `https://app${index % 4}.example.com/api/workflows/${index % WORKFLOWS}`,
    createdAt: NOW - HOUR - ((index * 7_919) % (100 * HOUR)),
    labels: [
      `tenant:${index % 500}`,
      ...(index % 7 === 0 ? ['billing'] : []),
      ...(index % 97 === 0 ? ['no-auto'] : []),
      ...(wasResumed ? [`opsd:${ledger.instance}:lineage-${index}:1`] : []),
    ],
    fingerprint: `print-${index % 60_000}`,
    responseStatus: index % 11 === 0 ? 422 : 503,
    ...(index % 3 === 0 && { flowControlKey: `key-${index % 20}` }),
  };
}

/** Writes a run, an intent and an outcome for each, as after a resume that failed again, in few transactions. */
function writeHistory(): void {
  const { db } = store;
  const intent = db.prepare(`INSERT INTO intents
    (run_id, at, epoch, policy, account, action, target, group_name, items, subject, lineage, campaign, step, proposal)
    VALUES (1, ?, 1, 'everything', 'main', 'workflow-dlq.resume', ?, ?, 1, ?, ?, 'everything/1', 1, ?)`);
  const outcome = db.prepare(
    `INSERT INTO outcomes (intent_id, at, outcome, new_run_id) VALUES (?, ?, 'failed_again', ?)`,
  );
  // The content of the shared run does not matter here.
  db.exec('PRAGMA foreign_keys = OFF; BEGIN');
  for (const entry of entries.slice(0, HISTORY)) {
    const at = entry.createdAt - HOUR;
    const target = `${entry.dlqId}-before`;
    const proposal: Pick<Proposal, 'policy' | 'account' | 'target' | 'action'> = {
      policy: 'everything',
      account: 'main',
      target,
      action: 'workflow-dlq.resume',
    };
    const lineage = `lineage-${entry.dlqId.slice(4)}`;
    const before = `${entry.workflowRunId}-before`;
    const { lastInsertRowid } = intent.run(at, target, entry.workflowUrl, before, lineage, JSON.stringify(proposal));
    outcome.run(lastInsertRowid, at + 1, entry.workflowRunId);
  }
  db.exec('COMMIT; PRAGMA foreign_keys = ON');
}

function pagedClient(): ServiceClient {
  const list = async (query: WorkflowDlqQuery): Promise<Page<WorkflowDlqEntry>> => {
    const start = Number(query.cursor ?? 0);
    const next = start + PAGE;
    return {
      value: entries.slice(start, next),
      dropped: 0,
      servedAt: NOW,
      ...(next < ENTRIES && { cursor: String(next) }),
    };
  };
  return { message: { listWorkflowDlq: list } } as unknown as ServiceClient;
}
