/** Commands of operators for manual plans: make one from a selection, and cancel it. */
import { hash } from 'node:crypto';
import { QUEUE_OF, selectionFault, type Selection } from '#foundation/domain/selection.ts';
import type { Decided, ManualRequest, Person, Planned, Refusal } from '../../ledger/commands.ts';
import { decided, decidedMeanwhile, refused, usable, type EngineCommandDeps } from './commands.ts';
import { makePlan } from './make-plan.ts';

/** Length of the id, which is also part of a policy's name: long enough to be unique. */
const ID_LENGTH = 10;

/** Makes and saves the plan of a selection; never acts. */
export async function planManually(
  request: ManualRequest,
  deps: EngineCommandDeps,
  signal: AbortSignal,
): Promise<Planned> {
  signal.throwIfAborted();
  const { by, reason, overrule } = request;
  const at = deps.clock.now();
  const { actions, accounts } = deps;
  const known = [...accounts.keys()].filter((name) => actions.accounts.includes(name));
  const account = selectedAccount(request.selection, known);
  if (typeof account !== 'string') return account;
  const selection = { ...request.selection, account };
  const fault = selectionFault(selection, at) ?? (reason.trim() === '' ? 'a manual plan needs a reason' : undefined);
  if (fault !== undefined) return bad(fault);
  const strange = await otherQueue(selection, account, deps);
  if (strange !== undefined) return strange;
  const manual = { by, reason, selection };
  const id = await freeId(JSON.stringify([at, manual]), at, deps);
  const overruled = overrule && { settings: overrule, reason };
  const policy = deps.manual.policyOf({ id, account, manual, overruled });
  if (typeof policy === 'string') return refused('bad_override', policy);
  const made = await makePlan(policy, { by, keep: true, overrule: overruled }, deps, signal);
  const { ids = [] } = selection;
  return ids.length > 0 && made.missing?.length === ids.length ? unknownIds(ids, account, deps) : made;
}

/** Returns an id that no decided plan has: the clock may have been set back to the time of one. */
async function freeId(content: string, at: number, { ledger }: EngineCommandDeps): Promise<string> {
  for (let attempt = 0; ; attempt++) {
    const id = hash('sha256', attempt === 0 ? content : `${content} ${attempt}`, 'hex').slice(0, ID_LENGTH);
    const known = await ledger.storedPlan(id, at);
    if (known === undefined || known.state === 'draft') return id;
  }
}

/** Cancels a manual plan: after the request in flight, nothing more is sent. */
export async function cancelPlan(id: string, person: Person, deps: EngineCommandDeps): Promise<Decided> {
  const stored = await usable(id, ['draft', 'approved', 'applied'], deps);
  if ('ok' in stored) return stored;
  const { plan } = stored;
  if (plan.manual === undefined) {
    const message = `Plan ${plan.id} is a plan of policy ${plan.policy}. \`opsd pause --policy ${plan.policy} --reason TEXT\` stops its runs.`;
    return refused('decided', message);
  }
  if (stored.state === 'applied' && !deps.manual.isUnderWay(plan.policy)) return decided(stored);
  const decision = { state: 'cancelled' as const, at: deps.clock.now(), ...person };
  if (!(await deps.ledger.decidePlan(plan.id, decision))) return decidedMeanwhile(stored, deps);
  const why = person.reason === undefined ? '' : `: ${person.reason}`;
  deps.manual.stop(plan.policy, `cancelled by ${person.by}${why}`);
  await deps.manual.review();
  return { ok: true, plan: { ...stored, state: 'cancelled', ...person } };
}

function bad(fault: string): Refusal {
  return refused('bad_selection', `${fault[0]!.toUpperCase()}${fault.slice(1)}.`);
}

/** Returns the account of a selection. One of several must be named. @param known accounts with a message API */
export function selectedAccount({ account }: Pick<Selection, 'account'>, known: readonly string[]): string | Refusal {
  if (account !== undefined) {
    return known.includes(account)
      ? account
      : bad(`there is no account ${account.slice(0, 100)}; accounts: ${known.join(', ')}`);
  }
  const [only] = known;
  return only !== undefined && known.length === 1 ? only : bad(`the selection needs an account: ${known.join(', ')}`);
}

function isRun(id: string, account: string, { board }: EngineCommandDeps): boolean {
  return board.latest(account, 'workflowDlq')?.rows.some(({ dlqId }) => dlqId === id) === true;
}

async function messageIds(account: string, { ledger }: EngineCommandDeps): Promise<ReadonlySet<string>> {
  return new Set((await ledger.deadLetters(account)).map(({ dlqId }) => dlqId));
}

/** Refuses ids that are known to be of the other queue, or of both. */
async function otherQueue(
  { action, ids = [], queue }: Selection,
  account: string,
  deps: EngineCommandDeps,
): Promise<Refusal | undefined> {
  if (ids.length === 0) return undefined;
  const messages = await messageIds(account, deps);
  const ofRuns = ids.filter((id) => isRun(id, account, deps));
  const ofMessages = ids.filter((id) => messages.has(id));
  const both = ofRuns.find((id) => messages.has(id));
  if (both !== undefined && queue === undefined) {
    return bad(`the id ${both.slice(0, 200)} is in both DLQs of ${account}; say queue workflow or queue message`);
  }
  const isOfRuns = QUEUE_OF[action] === 'workflow';
  const [strange] = isOfRuns
    ? ofMessages.filter((id) => !ofRuns.includes(id))
    : ofRuns.filter((id) => !messages.has(id));
  if (strange === undefined) return undefined;
  const is = isOfRuns ? 'a message' : 'a workflow run';
  const use =
    action === 'resume'
      ? 'the action republish publishes it again'
      : action === 'republish'
        ? 'the action resume resumes it'
        : `the action ${isOfRuns ? 'delete-messages' : 'delete'} deletes it`;
  return refused('other_queue', `The id ${strange.slice(0, 200)} is that of ${is}: ${use}.`);
}

/** Refusal of ids that do not exist in the DLQ. Names another account that has the first. */
async function unknownIds(ids: readonly string[], account: string, deps: EngineCommandDeps): Promise<Refusal> {
  const [first = ''] = ids;
  const others = deps.actions.accounts.filter((name) => name !== account);
  const known = await Promise.all(
    others.map(async (name) => isRun(first, name, deps) || (await messageIds(name, deps)).has(first)),
  );
  const other = others.find((_name, index) => known[index]);
  const named = ids.slice(0, 10).map((id) => id.slice(0, 200));
  const which = ids.length === 1 ? `The id ${first.slice(0, 200)} is not` : `None of the ids ${named.join(', ')} is`;
  const where = other === undefined ? '' : ` ${first.slice(0, 200)} is in account ${other}.`;
  return refused('unknown_id', `${which} in the DLQ of ${account}, or the filters exclude it.${where}`);
}
