/** Incidents of the daemon: what they are grouped from, and what the API shows of them. */
import type { Config } from '#config/config.ts';
import { shownConfig } from '#config/shown-config.ts';
import { missedFilter } from '#automate/guardrails/read-guards.ts';
import type { Acknowledgments } from '#automate/ledger/acknowledgments.ts';
import type { Intents } from '#automate/ledger/intents.ts';
import { evaluate } from '#automate/policies/evaluate.ts';
import type { Policy } from '#automate/policies/policy.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { IncidentWatch, type OpenResume } from '#observe/incidents/incident-watch.ts';
import type { Incidents } from '#operate/api/api-deps.ts';
import type { GenerationBase } from './generation-base.ts';
import type { DaemonOptions } from './options.ts';
import type { Policies } from './automation.ts';
import type { Parts } from '#foundation/platform/parts.ts';
import type { Stores } from './stores.ts';
import { isOperatorShareUsed } from '#service/daily-budget.ts';

const REVIEW_EVERY_MS = 15_000;
const REVIEW_TIMEOUT_MS = 60_000;
const ATTEMPTS_MS = 15 * 60_000;
const ROW_PAGE = 100;

interface IncidentsDeps extends GenerationBase {
  readonly policies: Policies;
  /** Base URL of the daemon's pages; undefined before they are served. */
  readonly address: () => string | undefined;
}

/** Records a configuration that starts. */
export type MarkStart = (config: Config, incidents: Pick<Stores['incidents'], 'mark'>) => Promise<void>;

/**
 * Records the version of this process and each configuration that it starts, because they may explain incidents. A
 * generation for other accounts starts no configuration: another replica may already have the next one.
 */
export function createMarks({ clock, version }: Pick<DaemonOptions, 'clock' | 'version'>): MarkStart {
  let marked: Config | undefined;
  return async (config, incidents) => {
    const at = clock.now();
    const { hash } = config;
    if (hash !== marked?.hash) {
      const changed = marked === undefined ? [] : changedParts(marked, config);
      await incidents.mark({ at, kind: 'configuration', detail: [hash, changed.join(', ')].join(' ').trimEnd() });
    }
    if (marked === undefined) await incidents.mark({ at, kind: 'version', detail: version });
    marked = config;
  };
}

const MOST_PARTS = 10;

/** Names of changed policies and sections: `policy resume-billing`, `limits`. */
function changedParts(before: Config, after: Config): readonly string[] {
  const [old, next] = [before, after].map((config) => {
    const { policies: _shown, ...sections } = shownConfig(config);
    // The line of a policy in its file is no change.
    const named = config.policies.map(({ settings }) => [`policy ${settings.name}`, settings] as const);
    return new Map([...named, ...Object.entries(sections)].map(([name, value]) => [name, JSON.stringify(value)]));
  });
  const names = new Set([...next!.keys(), ...old!.keys()]);
  return [...names].filter((name) => old!.get(name) !== next!.get(name)).slice(0, MOST_PARTS);
}

export function watchIncidents(deps: IncidentsDeps, parts: Parts): IncidentWatch {
  const { config, storage, scheduler, board, attempts, policies, clock, events } = deps;
  const { ledger, incidents: book } = storage;
  const { engine } = policies;
  const watch = new IncidentWatch({
    book,
    board,
    attempts,
    clock,
    events,
    accounts: config.accounts.map(({ name, limits }) => ({ name, dlqRetentionMs: limits.dlqRetention })),
    deadLetters: (account, limit) => ledger.deadLetters(account, limit),
    deploys: (accounts, since) => ledger.deploys(accounts, since),
    openResumes: async () => openResumes(ledger),
    conditions: {
      active: () => engine.conditions(),
      raise: (condition) => engine.others.raise(condition),
      resolve: (key, isSnoozed) => engine.others.resolve(key, isSnoozed),
    },
    link: (path) => `${config.server.externalUrl ?? deps.address() ?? ''}${path}`,
  });
  parts.ending('incidents', 2_000, async () => watch[Symbol.asyncDispose]());
  scheduler.add({
    name: 'incidents',
    schedule: { every: REVIEW_EVERY_MS },
    timeoutMs: REVIEW_TIMEOUT_MS,
    run: async () => {
      watch.refresh();
      await watch.settled();
    },
  });
  return watch;
}

/** Returns the resumes whose outcome is open, by account. */
async function openResumes(ledger: Intents): Promise<ReadonlyMap<string, readonly OpenResume[]>> {
  const open = (await ledger.openActions()).flatMap(({ proposal, outcome }) => {
    if (proposal.action !== 'workflow-dlq.resume' || outcome === undefined) return [];
    const { account, workflowUrl, failedAt, status, campaign } = proposal;
    return [{ account, workflowUrl, failedAt, status, campaign: campaign?.id }];
  });
  return Map.groupBy(open, ({ account }) => account);
}

interface ServedIncidentsDeps extends Pick<GenerationBase, 'whole' | 'accounts' | 'attempts' | 'clock'> {
  readonly ledger: Pick<Acknowledgments, 'acknowledgeIncident'>;
  readonly allPolicies: readonly Policy[];
}

/** Returns the incidents for the API. */
export function servedIncidents(watch: IncidentWatch, deps: ServedIncidentsDeps): Incidents {
  const { ledger, accounts, attempts, clock } = deps;
  return {
    all: () => watch.all(),
    find: (id) => watch.find(id),
    firstExpiresAt: (incident) => watch.firstExpiresAt(incident),
    incidentOf: (...place) => watch.incidentOf(...place),
    memberIds: (...asked) => watch.memberIds(...asked),
    deadLetters: (account) => watch.deadLetters(account),
    marks: () => watch.marks(),
    settled: () => watch.settled(),
    attempts: (account, host) => attempts.of(account, host, ATTEMPTS_MS),
    selectedBy: (account, members) => selectedBy(account, members, deps),
    async acknowledge(incident, person) {
      const acknowledged = { ...person, at: clock.now() };
      await ledger.acknowledgeIncident(incident, acknowledged);
      return watch.acknowledge(incident.id, acknowledged);
    },
    async readRow(account, { dlqId, workflowRunId }, signal) {
      const client = accounts.clients.get(account);
      if (client?.message === undefined) return 'the account has no message API';
      if (isOperatorShareUsed(client.usage('message')))
        return 'the rest of today’s requests is for collectors and policies (client.requestsPerDay)';
      const page = await client.message.listWholeWorkflowDlq({ workflowRunId, count: ROW_PAGE }, { signal });
      const found = page.value.find(({ entry }) => entry.dlqId === dlqId);
      return found?.row ?? 'the entry is no longer in the DLQ';
    },
  };
}

function selectedBy(
  account: string,
  { runs, deadLetters, lineages }: Parameters<Incidents['selectedBy']>[1],
  deps: Pick<ServedIncidentsDeps, 'allPolicies' | 'whole' | 'clock'>,
): ReadonlyMap<string, number> {
  const now = deps.clock.now();
  const retention = deps.whole.accounts.find(({ name }) => name === account)?.limits.dlqRetention;

  function selects(policy: Policy): number {
    if ('missed' in policy) {
      return deadLetters.filter(
        (deadLetter) =>
          policy.missed(deadLetter, now) === undefined && policy.where.evaluate({ deadLetter, now }) === 'match',
      ).length;
    }
    if (!('where' in policy) || !('filter' in policy)) return 0;
    const filter = policy.filter(now);
    const listed = runs.filter((entry) => missedFilter(entry, filter) === undefined);
    const attempts = ({ workflowRunId }: WorkflowDlqEntry) => lineages.get(workflowRunId)?.attempts ?? 0;
    return evaluate(policy, listed, { filter, retention, attempts }, now).matched.length;
  }

  const counts = deps.allPolicies
    .filter((policy) => policy.account === account)
    .map((policy) => [policy.name, selects(policy)] as const);
  return new Map(counts.filter(([, count]) => count > 0));
}
