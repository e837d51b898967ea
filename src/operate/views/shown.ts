/** Ports of the pages and the API over all accounts: those of this replica, and those that others show. */
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { IncidentLookup } from '#observe/incidents/incident-lookup.ts';
import type { IncidentSet } from '#observe/incidents/incident-set.ts';
import type { BoardReader } from '#observe/observations/board.ts';
import { sharedAttemptsOf, sharedOutages } from '#observe/observations/recent-attempts.ts';
import type { ApiDeps } from '../api/api-deps.ts';
import type { LiveReads, LogApi } from '../api/live-reads.ts';
import type { RemoteAccount } from './remote-account.ts';

/** Ports that show facts of accounts from the memory of their owner. */
export type AccountPorts = Required<
  Pick<
    ApiDeps,
    'board' | 'policies' | 'engine' | 'outages' | 'incidents' | 'canaries' | 'apiUsage' | 'labels' | 'liveReads'
  >
>;

/** Requests that the owner of an account sends and counts. */
export interface OtherReplicas extends Pick<ApiDeps['incidents'], 'readRow' | 'acknowledge'> {
  logApi(account: string): LogApi;
}

export interface ShownDeps {
  readonly clock: Clock;
  /** All accounts of the configuration. */
  readonly accounts: ApiDeps['accounts'];
  /** True for an account of this replica. */
  readonly isOwn: (account: string) => boolean;
  /** Returns what another replica shows of an account. */
  readonly remote: (account: string) => RemoteAccount | undefined;
  /** Incidents of this replica. */
  readonly incidents: () => Pick<IncidentSet, 'all' | 'get' | 'membersOf' | 'oldest'>;
  readonly others: OtherReplicas;
  /** True for an account that no replica owns. */
  readonly isUnowned: (account: string) => boolean;
  /** Returns the policies of an account that no replica has shown yet. */
  readonly configured: (account: string) => readonly PolicyStatus[];
}

/** @param own ports over the accounts of this replica */
export function shownPorts(own: AccountPorts, deps: ShownDeps): AccountPorts {
  const { clock, isOwn, remote } = deps;
  const otherNames = () => deps.accounts.map(({ name }) => name).filter((name) => !isOwn(name));
  const ofOthers = <T>(pick: (account: RemoteAccount) => readonly T[]): T[] =>
    otherNames().flatMap((name) => {
      const account = remote(name);
      return account === undefined ? [] : pick(account);
    });
  return {
    board: shownBoard(own.board, deps),
    async policies(view) {
      const others = otherNames().flatMap((name) => {
        const policies = remote(name)?.facts.policies ?? deps.configured(name);
        return deps.isUnowned(name) ? policies.map(withoutOwner) : policies;
      });
      return inOrder([...(await own.policies(view)), ...others], deps);
    },
    engine: {
      ...own.engine,
      conditions: () =>
        conditionsOf(
          own,
          ofOthers((account) => account.facts.conditions),
        ),
    },
    outages: (account) =>
      isOwn(account) ? own.outages(account) : sharedOutages(remote(account)?.facts.attempts, clock.now()),
    incidents: shownIncidents(own.incidents, deps),
    canaries: { states: () => [...own.canaries.states(), ...ofOthers(({ facts }) => facts.canaries)] },
    apiUsage: (account) => (isOwn(account) ? own.apiUsage(account) : (remote(account)?.facts.usage ?? [])),
    liveReads: shownReads(own.liveReads, deps),
    labels: () => [...own.labels(), ...ofOthers(({ facts }) => facts.labels)],
  };
}

/** Reads of other accounts are bounded here as well. Their owner checks the budget. */
function shownReads(own: LiveReads, { accounts, others }: ShownDeps): LiveReads {
  const readable = new Set(accounts.flatMap(({ name, messageApiUrl }) => (messageApiUrl === undefined ? [] : [name])));
  return own.orElse((account) => (readable.has(account) ? others.logApi(account) : undefined));
}

/** Returns the rows in the order of the accounts, which is the same on all replicas. */
function inOrder<Row extends { readonly account: string }>(rows: readonly Row[], { accounts }: ShownDeps): Row[] {
  const places = new Map(accounts.map(({ name }, place) => [name, place]));
  const placeOf = ({ account }: Row): number => places.get(account) ?? places.size;
  return rows.toSorted((a, b) => placeOf(a) - placeOf(b));
}

/** No replica runs the policy, whatever its last owner showed. */
function withoutOwner({ nextRunAt: _next, ...policy }: PolicyStatus): PolicyStatus {
  return { ...policy, effectiveMode: 'off', reducedBy: `no replica owns account ${policy.account}` };
}

/** A condition of the whole engine is active on each replica, and shown once. */
function conditionsOf({ engine }: AccountPorts, others: ReturnType<ApiDeps['engine']['conditions']>) {
  const all = [...engine.conditions(), ...others];
  return [...new Map(all.toReversed().map((condition) => [condition.key, condition])).values()].toReversed();
}

function shownBoard(own: BoardReader, deps: ShownDeps): BoardReader {
  const { clock, isOwn, remote } = deps;
  const readingOf = (account: string, collector: Parameters<BoardReader['latest']>[1]) =>
    remote(account)?.readings.get(collector);
  const isStale: BoardReader['isStale'] = (account, collector, given) => {
    if (isOwn(account)) return own.isStale(account, collector, given);
    const reading = readingOf(account, collector);
    const freshAt = given ?? reading?.freshAt;
    return freshAt === undefined || clock.monotonic() - freshAt > reading!.status.maxStalenessMs;
  };
  const latest = ((account, collector) =>
    isOwn(account) ? own.latest(account, collector) : readingOf(account, collector)?.batch) as BoardReader['latest'];
  return {
    latest,
    fresh: (account, collector) => (isStale(account, collector) ? undefined : latest(account, collector)),
    isStale,
    statuses() {
      const others = deps.accounts.filter(({ name }) => !isOwn(name)).flatMap(({ name }) => remote(name) ?? []);
      const readings = others.flatMap((account) => [...account.readings.values()]);
      return inOrder([...own.statuses(), ...readings.map(({ status }) => status)], deps);
    },
    logLag: {
      of(account) {
        if (isOwn(account)) return own.logLag.of(account);
        const { facts: { watermark } = {}, moving } = remote(account) ?? {};
        if (watermark === undefined) return undefined;
        const lagMs = clock.now() - watermark;
        return { watermark, lagMs: lagMs >= 0 ? lagMs : undefined, catchUpRatio: moving?.catchUpRatio };
      },
    },
  };
}

function shownIncidents(
  own: ApiDeps['incidents'],
  { accounts, clock, isOwn, remote, incidents, others }: ShownDeps,
): ApiDeps['incidents'] {
  const lookup = new IncidentLookup({
    accounts,
    setOf: (account) => (isOwn(account) ? incidents() : remote(account)?.incidents),
  });
  return {
    ...own,
    all: () => lookup.all(),
    find: (id) => lookup.find(id),
    firstExpiresAt: (incident) => lookup.firstExpiresAt(incident),
    incidentOf: (...place) => lookup.incidentOf(...place),
    memberIds: (...asked) => lookup.memberIds(...asked),
    deadLetters: (account) => (isOwn(account) ? own.deadLetters(account) : remote(account)?.deadLetters),
    attempts: (account, host) =>
      isOwn(account)
        ? own.attempts(account, host)
        : sharedAttemptsOf(remote(account)?.facts.attempts, host, clock.now()),
    acknowledge: (incident, person) => (isOwn(incident.account) ? own : others).acknowledge(incident, person),
    readRow: (account, entry, signal) => (isOwn(account) ? own : others).readRow(account, entry, signal),
  };
}
