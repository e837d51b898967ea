/** Commands to the engines of all replicas. Each runs in the engine that has the policies of its account. */
import { manualPlanId } from '#foundation/domain/manual-plan.ts';
import { unknownPolicy } from '#foundation/domain/suggest.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { selectedAccount } from '#automate/engine/commands/manual-commands.ts';
import type { EngineCommands, Explained, Planned, Refusal } from '#automate/ledger/commands.ts';
import type { PlanReader } from '#automate/ledger/plans.ts';
import { HttpError } from '#operate/http/reply.ts';
import { commandsOf, type CommandGate } from './commands.ts';
import type { Generation } from './generation.ts';
import type { Routing } from './routing.ts';

/** Commands that run at the owner of an account. */
const KINDS = ['plan', 'planManually', 'apply', 'approve', 'cancel', 'explain', 'unpause'] as const;
type Kind = (typeof KINDS)[number];

interface RoutedDeps {
  readonly gate: CommandGate;
  readonly generation: () => Generation;
  readonly routing: Routing;
  readonly ledger: Pick<PlanReader, 'storedPlan'>;
  readonly clock: Clock;
}

/** Returns the commands to the engine of this process, if it works on the account. */
function commandsHere({ gate, generation, routing }: RoutedDeps, account?: string): EngineCommands {
  return commandsOf(gate, () => {
    if (account !== undefined) routing.requireHere(account);
    return generation().policies.engine;
  });
}

/** Runs a command that another replica sent. */
export async function runHere(
  deps: RoutedDeps,
  { account, kind, arguments: given }: { readonly account: string; readonly kind: string; readonly arguments: unknown },
  signal: AbortSignal,
): Promise<unknown> {
  const known = KINDS.find((one) => one === kind);
  if (known === undefined) throw new Error(`there is no command ${kind}; replicas must have the same version`);
  return call(commandsHere(deps, account), known, given as readonly unknown[], signal);
}

async function call(commands: EngineCommands, kind: Kind, given: readonly unknown[], signal: AbortSignal) {
  const command = commands[kind] as (...all: readonly unknown[]) => Promise<unknown>;
  return command(...given, signal);
}

export function routedCommands(deps: RoutedDeps): EngineCommands {
  const { generation, routing, ledger, clock } = deps;
  const here = commandsHere(deps);
  const never = new AbortController().signal;

  function at<K extends Kind>(
    account: string,
    kind: K,
    given: readonly unknown[],
    { by, signal = never }: { readonly by: string; readonly signal?: AbortSignal },
  ): ReturnType<EngineCommands[K]> {
    const local = () => call(commandsHere(deps, account), kind, given, signal);
    return routing.run({ account, kind, by, arguments: given }, signal, local) as ReturnType<EngineCommands[K]>;
  }

  /** Returns the account of a stored plan. That of a plan that does not exist is any. */
  const planned = async (id: string) => ledger.storedPlan(id, clock.now());

  /** Returns the account of a policy or of a manual plan; undefined if there is none of this name. */
  async function accountOf(policy: string): Promise<string | undefined> {
    const { policies } = generation().whole;
    const id = manualPlanId(policy);
    if (id !== undefined) return (await planned(id))?.plan.account;
    return policies.find(({ settings }) => settings.name === policy)?.settings.account;
  }

  return {
    conditions: () => here.conditions(),
    stillPaused: (policy) => here.stillPaused(policy),
    async plan(policy, request, signal) {
      const account = await accountOf(policy);
      if (account === undefined) return refusedPolicy(policy, generation());
      return at(account, 'plan', [policy, request], { by: request.by, signal });
    },
    async planManually(request, signal) {
      const known = generation().whole.accounts.filter(({ messageApi }) => messageApi !== undefined);
      const account = selectedAccount(
        request.selection,
        known.map(({ name }) => name),
      );
      if (typeof account !== 'string') return account;
      const selection = { ...request.selection, account };
      return at(account, 'planManually', [{ ...request, selection }], { by: request.by, signal });
    },
    async apply(id, person, signal) {
      const stored = await planned(id);
      if (stored === undefined) return here.apply(id, person, signal);
      return at(stored.plan.account, 'apply', [id, person], { by: person.by, signal });
    },
    async approve(id, person) {
      const stored = await planned(id);
      if (stored === undefined) return here.approve(id, person);
      return at(stored.plan.account, 'approve', [id, person], { by: person.by });
    },
    // A change of the ledger, which every engine checks before each request.
    reject: (id, person) => here.reject(id, person),
    async cancel(id, person) {
      const stored = await planned(id);
      // Only the owner knows if the run of an applied plan is in progress.
      if (stored?.state !== 'applied') return here.cancel(id, person);
      return at(stored.plan.account, 'cancel', [id, person], { by: person.by });
    },
    explain: (id, signal) => explained(id, signal),
    async pause(pause) {
      await here.pause(pause);
      const scope = pause.policy === undefined ? 'engine' : `policy/${pause.policy}`;
      // If only this replica is cut off from the store, another one takes its accounts without the pause.
      if (!generation().policies.engine.unwrittenPauses().has(scope)) return;
      const message = `The store is unavailable, so ${scope} is paused only on this replica. Pause it on the others as well.`;
      throw new HttpError(503, 'store_unavailable', message);
    },
    async unpause(lifted) {
      const account = lifted.policy === undefined ? undefined : await accountOf(lifted.policy);
      if (account === undefined) return here.unpause(lifted);
      return at(account, 'unpause', [lifted], { by: lifted.by });
    },
  };

  async function explained(id: string, signal: AbortSignal): Promise<Explained | Refusal> {
    const own = await here.explain(id, signal);
    const account = own.ok ? (own.subject?.account ?? own.actions[0]?.proposal.account) : undefined;
    const ask = (of: string) => at(of, 'explain', [id], { by: '', signal });
    if (account !== undefined) return routing.isHere(account) ? own : ask(account);
    const asked = routing.others().map((of) => ask(of).catch((error: unknown) => unread(errorMessage(error))));
    const found = await Promise.any(asked.map(async (one) => ((await one).ok ? one : Promise.reject()))).catch(
      () => undefined,
    );
    signal.throwIfAborted();
    return found ?? notFound([own, ...(await Promise.all(asked)), ...unownedOf(routing.unowned())]);
  }
}

/** Combines the refusals of all replicas. An id is unknown only if all of them have read everything. */
function notFound(all: readonly (Explained | Refusal)[]): Refusal {
  const refusals = all.filter((one) => !one.ok);
  const code = refusals.find((one) => one.code !== 'unknown_id')?.code ?? 'unknown_id';
  return { ok: false, code, message: refusals.map(({ message }) => message).join(' ') };
}

function unownedOf(accounts: readonly string[]): readonly Refusal[] {
  if (accounts.length === 0) return [];
  return [
    unread(`No owner of ${accounts.join(', ')} is known at this time, so the id was not searched there. Try again.`),
  ];
}

const unread = (message: string): Refusal => ({ ok: false, code: 'unread', message });

function refusedPolicy(policy: string, { whole }: Generation): Planned {
  const names = whole.policies.map(({ settings }) => settings.name);
  return { ok: false, code: 'unknown_policy', message: unknownPolicy(policy, names) };
}
