/** Commands of operators and hooks, with replicas: each runs at the owner of its account, and this one runs its part. */
import type { EngineCommands } from '#automate/ledger/commands.ts';
import type { PlanReader } from '#automate/ledger/plans.ts';
import type { Trigger } from '#foundation/domain/plan.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import type { Logger } from '#foundation/platform/logger.ts';
import type { ApiDeps } from '#operate/api/api-deps.ts';
import type { OtherReplicas } from '#operate/views/shown.ts';
import type { CommandGate } from './commands.ts';
import type { Generation } from './generation.ts';
import type { Peers } from './peers.ts';
import type { Replica } from './replica.ts';
import { routedCommands, runHere } from './routed-commands.ts';
import { OPERATION, performHere, routedOperations, type SentOperation } from './routed-operations.ts';
import { READ, readHere, routedReads, type ReadsHere, type SentRead } from './routed-reads.ts';
import { carried, Routing } from './routing.ts';

/** Kind of the commands that start the run of a policy. */
const RUN = 'run';

interface RoutedDeps {
  readonly peers: Peers;
  readonly replica: Replica;
  readonly gate: CommandGate;
  readonly generation: () => Generation;
  readonly ledger: Pick<PlanReader, 'storedPlan'>;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn'>;
  /** Performs operations in this process. @param requireHere throws if another one works on the account now */
  readonly operations: (requireHere: (account: string) => void) => ApiDeps['operate'];
  /** Answers reads of the service in this process. */
  readonly reads: Omit<ReadsHere, 'routing'>;
}

export interface RoutedCommands {
  readonly engine: EngineCommands;
  readonly operate: ApiDeps['operate'];
  readonly reads: OtherReplicas;
  /** Runs a policy soon, here or at the owner of its account. */
  runSoon(policy: string, trigger: Trigger): void;
  /** Runs the commands of other replicas until disposal. */
  serve(): AsyncDisposable;
}

export function routeCommands(deps: RoutedDeps): RoutedCommands {
  const { peers, generation, gate, logger } = deps;
  const routing = new Routing(deps);
  const local = { ...deps, routing };
  const reads = { ...deps.reads, routing };
  const operate = deps.operations((account) => routing.requireHere(account));

  function runSoon(policy: string, trigger: Trigger): void {
    const { policies, whole } = generation();
    const account = whole.policies.find(({ settings }) => settings.name === policy)?.settings.account;
    if (account === undefined || routing.isHere(account)) return policies.runSoon(policy, trigger);
    routing.post({ account, kind: RUN, arguments: { policy, trigger } }).catch((error: unknown) => {
      // The trigger is in the store, and its policy runs at the next review of the owner.
      logger.warn({ policy, error: errorMessage(error) }, 'the owner of the account was not notified of a trigger');
    });
  }

  return {
    engine: routedCommands(local),
    operate: routedOperations({ operate, generation, routing }),
    reads: routedReads(reads),
    runSoon,
    serve() {
      const heard = peers.onLedgerChange(() => generation().policies.settleSoon());
      const served = peers.serve(({ account, kind, arguments: given }, signal) =>
        carried(async () => {
          if (kind === OPERATION) return performHere(account, given as SentOperation, { operate, signal });
          if (kind === READ) return readHere(account, given as SentRead, reads, signal);
          if (kind !== RUN) return runHere(local, { account, kind, arguments: given }, signal);
          const { policy, trigger } = given as { policy: string; trigger: Trigger };
          return gate.pass(signal, () => generation().policies.runSoon(policy, trigger));
        }),
      );
      return {
        async [Symbol.asyncDispose]() {
          heard[Symbol.dispose]();
          await served[Symbol.asyncDispose]();
        },
      };
    },
  };
}
