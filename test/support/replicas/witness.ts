/**
 * Scrapes all replicas continuously and checks each scrape against all previous ones: owners by epoch, series on one
 * replica only, counters that never decrease and never exceed the service's own log.
 */
import { onTestFinished } from 'vitest';
import type { ReplicaHost } from './replica-host.ts';

/** State of an account on a replica. */
export interface Exposed {
  readonly isOwner: boolean;
  readonly epoch: number;
  /** Counted log entries; undefined if the replica does not export the account. */
  readonly logged: number | undefined;
}

export interface Look {
  readonly replica: string;
  /** Number of the process. */
  readonly process: number;
  /** Monotonic milliseconds. */
  readonly startedAt: number;
  readonly accounts: ReadonlyMap<string, Exposed>;
}

interface Known {
  readonly replica: string;
  readonly process: number;
  readonly epoch: number;
  readonly logged: number;
}

const LINE = /^(opsd_lease_owner|opsd_lease_epoch|msgsvc_log_events_total)\{(.*)\} (\S+)$/;
const PAUSE_MS = 150;
const TIMEOUT_MS = 30_000;

export class Witness {
  readonly violations: string[] = [];
  /** Longest times that a replica exported series of an account that another one owned, in milliseconds. */
  readonly stale: number[] = [];
  readonly #hosts: readonly ReplicaHost[];
  /** Returns the entries that the service has logged for an account. */
  readonly #loggedBy: (account: string) => number;
  readonly #last = new Map<string, Look>();
  #known = new Map<string, Known>();
  readonly #staleSince = new Map<string, number>();
  #isEnded = false;
  looks = 0;

  constructor(hosts: readonly ReplicaHost[], loggedBy: (account: string) => number) {
    this.#hosts = hosts;
    this.#loggedBy = loggedBy;
    for (const host of hosts) void this.#watch(host);
    onTestFinished(() => void (this.#isEnded = true));
  }

  /** Returns the last looks at live replicas that began after a time; undefined if one of them has none. */
  since(time: number): readonly Look[] | undefined {
    const live = this.#hosts.filter(({ isLive }) => isLive);
    const looks = live.flatMap(({ name, state: { processes } }) => {
      const look = this.#last.get(name);
      return look !== undefined && look.startedAt >= time && look.process === processes ? [look] : [];
    });
    return looks.length === live.length ? looks : undefined;
  }

  /** Returns the accounts that a replica last owned. */
  ownedBy(replica: string): readonly string[] {
    return [...this.#known].filter(([, known]) => known.replica === replica).map(([account]) => account);
  }

  async #watch(host: ReplicaHost): Promise<void> {
    while (!this.#isEnded) {
      if (host.isRunning) await this.#look(host).catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  async #look(host: ReplicaHost): Promise<void> {
    const [startedAt, before, number] = [performance.now(), this.#known, host.state.processes];
    const response = await fetch(`${host.url}/metrics`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    const text = await response.text();
    if (!response.ok || number !== host.state.processes) return;
    const accounts = exposedBy(text);
    const look = { replica: host.name, process: number, startedAt, accounts };
    const see = { ...look, isCutOff: host.state.isCutOff };
    for (const [account, exposed] of accounts) this.#check(see, account, exposed, before.get(account));
    this.#last.set(host.name, look);
    this.looks += 1;
  }

  #check(
    { replica, process, startedAt, isCutOff }: Look & { readonly isCutOff: boolean },
    account: string,
    { isOwner, epoch, logged }: Exposed,
    before: Known | undefined,
  ): void {
    const fail = (what: string): void => void this.violations.push(`${account} on ${replica}: ${what}`);
    const truth = this.#loggedBy(account);
    if (logged !== undefined && logged > truth) fail(`${logged} entries counted of ${truth}`);
    const isOther = before !== undefined && (before.replica !== replica || before.process !== process);
    const key = `${replica} ${account}`;
    if (!isOwner && isOther && logged !== undefined && !isCutOff) {
      this.#staleSince.set(key, this.#staleSince.get(key) ?? startedAt);
    } else {
      this.#endStale(key, startedAt);
    }
    if (!isOwner) return;
    if (before !== undefined && epoch < before.epoch) fail(`owner with epoch ${epoch} after ${before.epoch}`);
    if (isOther && epoch === before.epoch) fail(`owner with epoch ${epoch}, which ${before.replica} had`);
    if (logged === undefined) return;
    if (before !== undefined && logged < before.logged) fail(`${logged} entries after ${before.logged}`);
    const known = this.#known.get(account);
    if (known !== undefined && known.epoch >= epoch && known.logged >= logged) return;
    // Replaced rather than changed: a scrape in progress keeps what was known at its start.
    this.#known = new Map(this.#known).set(account, { replica, process, epoch, logged });
  }

  #endStale(key: string, at: number): void {
    const since = this.#staleSince.get(key);
    if (since !== undefined) this.stale.push(at - since);
    this.#staleSince.delete(key);
  }
}

function exposedBy(text: string): Map<string, Exposed> {
  const accounts = new Map<string, Exposed>();
  for (const line of text.split('\n')) {
    const match = LINE.exec(line);
    const account = match && /account="([^"]*)"/.exec(match[2]!)?.[1];
    if (match === null || account == null) continue;
    const exposed = accounts.get(account) ?? { isOwner: false, epoch: 0, logged: undefined };
    const value = Number(match[3]);
    const [, name] = match;
    accounts.set(account, {
      isOwner: name === 'opsd_lease_owner' ? value === 1 : exposed.isOwner,
      epoch: name === 'opsd_lease_epoch' ? value : exposed.epoch,
      logged: name === 'msgsvc_log_events_total' ? (exposed.logged ?? 0) + value : exposed.logged,
    });
  }
  return accounts;
}
