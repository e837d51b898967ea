/**
 * Incidents and the search of dead letters with a full workflow DLQ: the real grouping over a store on disk, and the
 * views of the API. The floor of each search is a plain loop over the same rows, in the same run. Reports medians, ratios,
 * the longest time without a turn of the event loop during the first grouping, and the memory of the grouping.
 */
import { searchDeadLetters } from '#operate/contract/dead-letters.ts';
import { readQuery } from '#operate/http/query.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { EventBus } from '#foundation/events/events.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { IncidentBook } from '#observe/incidents/incident-book.ts';
import { IncidentWatch } from '#observe/incidents/incident-watch.ts';
import { ObservationBoard } from '#observe/observations/board.ts';
import { deadLetterList } from '#operate/api/dead-letter-views.ts';
import { incidentDetail, incidentList } from '#operate/api/incident-views.ts';
import { json } from '#operate/http/reply.ts';
import { createIncidentStore } from '#storage/incident-store.ts';
import { openStore } from '#storage/sqlite.ts';
import { figures } from './measure.ts';

const ENTRIES = Number(process.env['ENTRIES'] ?? 100_000);
const ROUNDS = Number(process.env['ROUNDS'] ?? 15);
const WORKFLOWS = Number(process.env['WORKFLOWS'] ?? 40);
const NOW = Date.UTC(2026, 2, 2, 10);
const DAY = 86_400_000;

const folder = mkdtempSync(join(tmpdir(), 'opsd-bench-incidents-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

const clock = new ManualClock(NOW);
const board = new ObservationBoard(clock);
board.register({ account: 'main', collector: 'workflowDlq', schedule: '', intervalMs: 1, maxStalenessMs: DAY });
const store = openStore(join(folder, 'opsd.db'));
const watch = new IncidentWatch({
  book: await IncidentBook.open(createIncidentStore(store)),
  board,
  attempts: { outages: () => [], of: () => undefined, destination: () => undefined },
  clock,
  events: new EventBus(),
  accounts: [{ name: 'main', dlqRetentionMs: 7 * DAY }],
  deadLetters: async () => [],
  deploys: async () => [],
  openResumes: async () => new Map(),
  conditions: { active: () => [], raise: () => undefined, resolve: () => undefined },
  link: (path) => path,
});
type Deps = Parameters<typeof incidentDetail>[0];
const deps = {
  clock,
  board,
  accounts: [{ name: 'main', dlqRetentionMs: 7 * DAY }],
  policies: () => [],
  ledger: {
    view: async (use: (ledger: object) => Promise<unknown>) =>
      use({ storedPlans: () => [], lineagesOfRuns: () => new Map(), deploys: () => [] }),
  },
  incidents: Object.assign(watch, { attempts: () => undefined, selectedBy: () => new Map() }),
} as unknown as Deps;

const rows = listing();
await watch.settled();
globalThis.gc?.();
const heapBefore = process.memoryUsage().heapUsed;
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const grouping = await timed(() => publish(rows));
delay.disable();
globalThis.gc?.();
const heapMb = (process.memoryUsage().heapUsed - heapBefore) / 1_048_576;
print('first grouping, committed', grouping);
console.log(`longest turn of the event loop during the grouping: ${Math.round(delay.max / 1e6)} ms`);
if (globalThis.gc !== undefined) console.log(`heap of members and incidents: ${heapMb.toFixed(1)} MB`);
console.log(`${watch.all().length} incidents\n`);

const again = listing();
print('grouping without a change', await median(async () => publish([...again])));
const floor = await median(() => again.filter(({ labels }) => labels.includes('label-7')).length);
print('floor: a loop over all rows', floor);
const search = (query: string) => () =>
  json(200, deadLetterList(deps, readQuery(new URLSearchParams(query), searchDeadLetters.query)));
const biggest = watch.all().toSorted((a, b) => b.ever - a.ever)[0]!;
const middle = String(rows[ENTRIES / 2]!.createdAt);
for (const [name, query] of [
  ['first page', ''],
  ['filter by label', 'label=label-7'],
  ['filter by status and time', `responseStatus=503&fromDate=${middle}`],
  ['filter without a match', 'label=nothing'],
  ['filter by incident', `incident=${biggest.id}`],
  ['deep page', `toDate=${middle}&limit=500`],
] as const) {
  print(name, await median(search(query)), floor);
}
print('list of incidents', await median(() => json(200, incidentList(deps, { limit: 50 }))), floor);
print(
  `incident with ${biggest.ever} members`,
  await median(async () => json(200, { a: await incidentDetail(deps, biggest) })),
  floor,
);
await watch[Symbol.asyncDispose]();
store[Symbol.dispose]();

async function publish(read: readonly WorkflowDlqEntry[]): Promise<void> {
  board.publish({ account: 'main', collector: 'workflowDlq', at: NOW, rows: read, dropped: 0 }, 1);
  await watch.settled();
}

async function timed(work: () => unknown): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

async function median(work: () => unknown): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) times.push(await timed(work));
  return figures(times).median;
}

function print(name: string, ms: number, against?: number): void {
  const ratio = against === undefined ? '' : `  ${(ms / against).toFixed(1)} × floor`;
  console.log(`${name.padEnd(34)} ${ms.toFixed(1).padStart(8)} ms${ratio}`);
}

/** New objects, as a listing makes them; oldest first. */
function listing(): WorkflowDlqEntry[] {
  return Array.from({ length: ENTRIES }, (_, index) => ({
    dlqId: `dlq-${index}`,
    workflowRunId: `wfr_${index}`,
    workflowUrl: `https://app.example.com/api/workflows/workflow-${String.fromCharCode(97 + ((index % WORKFLOWS) % 26))}${index % WORKFLOWS > 25 ? 'x' : ''}`,
    createdAt: NOW - 2 * DAY + index * 1_000,
    labels: [`label-${index % 50}`],
    responseStatus: [500, 503, 429, 422][index % 4]!,
    responseText: `{"error":"upstream 10.0.0.${index % 250} is unavailable","requestId":"req_${index}"}`,
  }));
}
