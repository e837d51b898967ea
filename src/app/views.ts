/** Accounts of all replicas on the pages and in the API of each. Only with a store that replicas share. */
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import type { WatchedFlowControlKey } from '#foundation/domain/flow-control.ts';
import type { Batch } from '#foundation/domain/observation.ts';
import { configuredStatus } from '#automate/policies/when-text.ts';
import type { FlowControlHistory } from '#observe/observations/flow-control-history.ts';
import type { AccountLease } from '#operate/contract/status.ts';
import { publishViews } from '#operate/views/publisher.ts';
import { RemoteViews } from '#operate/views/remote-views.ts';
import { repeat } from '#operate/views/repeat.ts';
import { shownPorts, type AccountPorts } from '#operate/views/shown.ts';
import type { ServerDeps } from '#operate/server.ts';
import { createViewStore } from '#storage/postgres/view-store.ts';
import type { Generation, SharedMemory } from './generation.ts';
import type { DaemonProcess } from './process.ts';
import type { Parts } from '#foundation/platform/parts.ts';
import type { Replica } from './replica.ts';
import type { RoutedCommands } from './routed.ts';

/** Pause between two readings of the views of other replicas. */
const READ_EVERY_MS = 2_000;

interface ViewsDeps extends Pick<DaemonProcess, 'options' | 'events' | 'storage'> {
  readonly replica: Replica;
  readonly routed: Pick<RoutedCommands, 'reads'>;
  readonly flowControlHistory: FlowControlHistory;
}

export interface Views {
  /** Shows the accounts of a generation to the other replicas. Ends with `parts`. */
  publish(memory: SharedMemory, parts: Parts): void;
  /** Adds the accounts of the other replicas to the ports of a generation. */
  shown(ports: ServerDeps & AccountPorts, generation: Generation): ServerDeps;
}

export function openViews(deps: ViewsDeps, parts: Parts): Views {
  const { options, events, storage, replica, routed, flowControlHistory } = deps;
  const { clock } = options;
  const store = createViewStore(storage.database);
  let present: Generation | undefined;
  const failed = (operation: string) => (message: string) => events.emit({ type: 'store.failed', operation, message });
  const isOwn = (account: string): boolean => present?.config.accounts.some(({ name }) => name === account) === true;
  const remote = new RemoteViews({
    store,
    clock,
    accounts: () => present?.whole.accounts.map(({ name }) => name).filter((name) => !isOwn(name)) ?? [],
    onReading: (batch) => remember(batch, flowControlHistory),
  });
  const reading = repeat(
    { clock, everyMs: READ_EVERY_MS, onProblem: failed('reading of the accounts of other replicas') },
    () => remote.refresh(),
  );
  parts.ending('reading of other replicas', 5_000, async () => reading[Symbol.asyncDispose]());

  return {
    publish({ config, board, attempts, incidents, policies, accounts, metrics, canaries }, ofGeneration) {
      const publishing = publishViews({
        store,
        clock,
        accounts: config.accounts.map(({ name }) => name),
        memory: { clock, board, attempts, incidents, usage: (account) => accounts.usage(account) },
        owns: (account) => replica.owns(account),
        facts: async () => ({
          policies: await policies.statuses(),
          conditions: policies.engine.conditions(),
          labels: metrics.labelUse(),
          canaries: canaries?.states() ?? [],
        }),
        onProblem: failed('writing of the accounts for other replicas'),
      });
      ofGeneration.ending('views for other replicas', 5_000, async () => publishing[Symbol.asyncDispose]());
    },
    shown(ports, generation) {
      present = generation;
      reading.soon();
      const shown = shownPorts(ports, {
        clock,
        accounts: ports.accounts,
        isOwn: (account) => generation.config.accounts.some(({ name }) => name === account),
        remote: (account) => remote.of(account),
        incidents: () => generation.incidents.present,
        others: routed.reads,
        isUnowned: (account) => replica.problem === undefined && isUnowned(replica.owners().get(account)),
        configured: (account) => configuredPolicies(account, generation),
      });
      return { ...ports, ...shown, replica };
    },
  };
}

function isUnowned(owner: AccountLease | undefined): boolean {
  return owner?.replica === undefined && owner?.isUnknown === undefined;
}

function remember({ account, collector, at, rows }: Batch, history: FlowControlHistory): void {
  if (collector === 'flowControl') history.take(account, at, rows as readonly WatchedFlowControlKey[]);
}

/** Policies of an account that no replica has shown yet. */
function configuredPolicies(account: string, generation: Generation): readonly PolicyStatus[] {
  return generation.allPolicies
    .filter((policy) => policy.account === account)
    .map((policy) => ({
      ...configuredStatus(policy),
      effectiveMode: 'off',
      reducedBy: `no replica has shown account ${account} yet`,
      campaigns: [],
    }));
}
