/**
 * Delivery attempts by destination, in one row for each minute. A commit of the log reading changes the rows of its
 * minutes only, however many entries it counts. The rows of the last hours are kept, so that a restart forgets nothing.
 */
import type { EndedAttempts, KnownAttempts } from '#foundation/domain/ended-attempts.ts';
import { all, get, put, type Work } from './database.ts';

const MINUTE_MS = 60_000;
const KEPT_MS = 360 * MINUTE_MS;
/** Maximum number of destinations per minute. Those with the fewest failures are left out first. */
const MOST_HOSTS = 500;

const SELECT_MINUTES = 'SELECT minute, record FROM log_attempts WHERE account = ? AND minute >= ? AND minute <= ?';
const PUT_MINUTE = `INSERT INTO log_attempts (account, minute, record) VALUES (?, ?, ?)
  ON CONFLICT (account, minute) DO UPDATE SET record = excluded.record`;
const FORGET_MINUTES = 'DELETE FROM log_attempts WHERE account = ? AND minute < ?';
const SELECT_KNOWN = 'SELECT watermark, attempts_since FROM log_aggregation WHERE account = ?';

/** Row of a minute, as JSON. */
interface MinuteRecord {
  readonly hosts: readonly HostRecord[];
  /** True if destinations were left out. */
  readonly isCut: boolean;
}
type HostRecord = Omit<EndedAttempts, 'minute' | 'failedFrom' | 'reasons'> & {
  /** JSON has no Infinity. */
  readonly failedFrom: number | null;
  readonly reasons: Readonly<Record<string, number>>;
};

export function* saveAttempts(account: string, watermark: number, attempts: readonly EndedAttempts[]): Work<void> {
  const first = watermark - KEPT_MS;
  const fresh = Map.groupBy(
    attempts.filter(({ minute }) => minute >= first),
    ({ minute }) => minute,
  );
  if (fresh.size === 0) return;
  const border = [Math.min(...fresh.keys()), Math.max(...fresh.keys())] as const;
  const stored = new Map<number, MinuteRecord>();
  for (const { minute, record } of yield* all(SELECT_MINUTES, account, ...border)) {
    stored.set(Number(minute), JSON.parse(String(record)) as MinuteRecord);
  }
  const changed = [...fresh].map(([minute, added]) => {
    return [account, minute, JSON.stringify(withAdded(stored.get(minute), added))];
  });
  yield* put(PUT_MINUTE, changed);
  yield* put(FORGET_MINUTES, [[account, first]]);
}

function withAdded(
  { hosts, isCut }: MinuteRecord = { hosts: [], isCut: false },
  added: readonly EndedAttempts[],
): MinuteRecord {
  const byHost = new Map(hosts.map((record) => [record.host, record]));
  for (const { host, delivered, failed, failedFrom, lost, reasons } of added) {
    const before = byHost.get(host);
    const counts = { ...before?.reasons };
    for (const [reason, count] of reasons) counts[reason] = (counts[reason] ?? 0) + count;
    const from = Math.min(failedFrom, before?.failedFrom ?? Infinity);
    byHost.set(host, {
      host,
      delivered: delivered + (before?.delivered ?? 0),
      failed: failed + (before?.failed ?? 0),
      failedFrom: from === Infinity ? null : from,
      lost: lost + (before?.lost ?? 0),
      reasons: counts,
    });
  }
  const all = [...byHost.values()];
  if (all.length <= MOST_HOSTS) return { hosts: all, isCut };
  const kept = all.toSorted((a, b) => b.failed - a.failed || b.delivered - a.delivered).slice(0, MOST_HOSTS);
  return { hosts: kept, isCut: true };
}

/** Returns the stored attempts, oldest first. Undefined if none were counted. */
export function* loadAttempts(account: string): Work<KnownAttempts | undefined> {
  const state = yield* get(SELECT_KNOWN, account);
  if (state === undefined || state['attempts_since'] === null) return undefined;
  const watermark = Number(state['watermark']);
  const rows = yield* all(`${SELECT_MINUTES} ORDER BY minute`, account, watermark - KEPT_MS, Number.MAX_SAFE_INTEGER);
  let from = Number(state['attempts_since']);
  const attempts = rows.flatMap(({ minute, record }) => {
    const { hosts, isCut } = JSON.parse(String(record)) as MinuteRecord;
    if (isCut) from = Math.max(from, Number(minute) + MINUTE_MS);
    return hosts.map(({ failedFrom, reasons, ...counts }) => ({
      ...counts,
      minute: Number(minute),
      failedFrom: failedFrom ?? Infinity,
      reasons: new Map(Object.entries(reasons)),
    }));
  });
  return { watermark, from, attempts };
}
