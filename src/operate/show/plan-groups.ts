/** Entries of a plan that are alike: one row for each destination and reason, with a sample. Pure. */
import { formatCount } from '#foundation/domain/counted.ts';
import type { Plan, Proposal } from '#foundation/domain/plan.ts';
import {
  type Cell,
  idLink,
  moment,
  numberColumn,
  sub,
  type Table,
  table,
  timePiece,
  wide,
} from '#foundation/markup/cell.ts';
import { deadLetterPath } from '../contract/page-paths.ts';

type Entry = Extract<Proposal, { readonly dlqId: string }>;

interface EntryGroup {
  readonly destination: string;
  readonly reason: string;
  readonly now: readonly Entry[];
  /** Of the first entries of later runs, which the plan lists. */
  readonly later: readonly Entry[];
}

const MOST_GROUPS = 20;

/** @returns undefined for a plan without entries: a prune lists nothing, and a raise has an account */
export function planGroups({ chosen, deferred = [], backlog }: Plan): Table | undefined {
  const now = new Set<Proposal>(chosen);
  const entries = [...chosen, ...deferred].filter((one): one is Entry => 'dlqId' in one);
  if (entries.length === 0) return undefined;
  const groups = [...Map.groupBy(entries, (entry) => JSON.stringify([destinationOf(entry), reasonOf(entry)])).values()]
    .map((all) => ({
      destination: destinationOf(all[0]!),
      reason: reasonOf(all[0]!),
      now: all.filter((entry) => now.has(entry)),
      later: all.filter((entry) => !now.has(entry)),
    }))
    .toSorted((a, b) => b.now.length - a.now.length || b.later.length - a.later.length);
  const more = groups.length - MOST_GROUPS;
  const unlisted = backlog - deferred.length;
  return table<EntryGroup>({
    caption: [
      'Entries with the same destination and reason are one row.',
      unlisted > 0 && ` ${formatCount(unlisted)} more of later runs are not listed.`,
      more > 0 && ` The ${formatCount(MOST_GROUPS)} largest of ${formatCount(groups.length)} rows.`,
    ],
    rows: groups.slice(0, MOST_GROUPS),
    empty: '',
    columns: {
      Destination: wide((row) => row.destination),
      Reason: wide((row) => row.reason),
      Now: numberColumn((row) => formatCount(row.now.length)),
      Later: numberColumn((row) => row.later.length > 0 && formatCount(row.later.length)),
      Failed: ({ now: own, later }) => period([...own, ...later]),
      Sample: wide(({ now: own, later }) => sample((own[0] ?? later[0])!)),
    },
  });
}

function destinationOf(entry: Entry): string {
  return ('workflowUrl' in entry ? entry.workflowUrl : entry.url) ?? 'unknown';
}

function reasonOf(entry: Entry): string {
  const status = entry.status === undefined ? '' : `HTTP ${entry.status}`;
  return 'cause' in entry ? `${entry.cause} ${status}`.trimEnd() : status || 'no response';
}

function period(entries: readonly Entry[]): Cell {
  const times = entries.map(({ failedAt }) => failedAt);
  const [first, last] = times.reduce(
    ([low, high], at) => [Math.min(low, at), Math.max(high, at)],
    [Infinity, -Infinity],
  );
  return first === last ? timePiece(first) : [timePiece(first), ' to ', timePiece(last)];
}

function sample(entry: Entry): Cell {
  const { dlqId, account } = entry;
  const labels = 'labels' in entry && entry.labels.join(', ');
  const expiresAt = 'expiresAt' in entry ? entry.expiresAt : undefined;
  return [
    idLink(deadLetterPath({ id: dlqId, account }), dlqId),
    sub('attempt' in entry && `attempt ${entry.attempt}`),
    sub(labels),
    expiresAt !== undefined && sub(['expires ', moment(expiresAt, entry.failedAt)]),
  ];
}
