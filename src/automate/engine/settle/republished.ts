/**
 * Settles messages that were published again: published, found to be delivered by the log, and only then deleted from
 * the DLQ. Each step is recorded before the next one begins, so a crash continues where it was. A publish with a lost
 * response is repeated under its deduplication id while the service still knows the id; afterwards the log decides.
 */
import { CLOCK_MARGIN_MS } from '#foundation/domain/clock-skew.ts';
import { formatStamp } from '#foundation/domain/lineage.ts';
import type { RepublishProposal } from '#foundation/domain/plan.ts';
import type { ActionOutcome, ActionRecord } from '../../ledger/intents.ts';
import { retryHorizon } from '../../guardrails/campaign.ts';
import { pauseIfMore } from '../act/sending.ts';
import type { EngineParts } from '../guard/engine-parts.ts';
import { logTells, mayNotRepeat, record, UNRESOLVABLE_AFTER_MS } from './records.ts';

/** The service knows a deduplication id for ten minutes. A repetition must arrive within them. */
const REPEAT_WITHIN_MS = 480_000;
/** Time after which a message that was published has an entry in the log. */
const LOGGED_AFTER_MS = 1_800_000;
/** Time after which a dead letter that cannot be deleted is left. */
const DELETE_WITHIN_MS = 7 * 86_400_000;
/** Interval of reads of the log, which the collector reads as well. */
const READ_EVERY_MS = 60_000;

type Republished = ActionRecord & { readonly proposal: RepublishProposal };
type LogRead = EngineParts['actions']['readLog'];
type ReadLog = (query: Parameters<LogRead>[1]) => ReturnType<LogRead>;

export function isRepublished(action: ActionRecord): action is Republished {
  return action.proposal.action === 'message-dlq.republish';
}

export async function settleRepublished(
  actions: readonly Republished[],
  deps: EngineParts,
  signal: AbortSignal,
): Promise<void> {
  const [first] = actions;
  if (first === undefined) return;
  const { account } = first.proposal;
  const key = `${account} log`;
  const mayRead = deps.clock.monotonic() - (deps.listedAt.get(key) ?? -Infinity) >= (deps.listEveryMs ?? READ_EVERY_MS);
  if (mayRead) deps.listedAt.set(key, deps.clock.monotonic());
  const read: ReadLog | undefined = mayRead ? (query) => deps.actions.readLog(account, query, signal) : undefined;
  for (let action of actions) {
    if (signal.aborted) return;
    if (action.outcome === 'unknown' && read !== undefined) action = await resolved(action, read, deps);
    if (action.outcome === 'accepted') action = await ended(action, read, deps);
    if (action.outcome === 'delivered') await deleteEntries(action, deps);
  }
}

/** Finds out whether a message was published. */
async function resolved(action: Republished, read: ReadLog, deps: EngineParts): Promise<Republished> {
  const { proposal, at } = action;
  const { instance } = deps.ledger;
  const age = deps.clock.now() - at;
  const how = 'repeated under its id, or found in the log';
  if (age < REPEAT_WITHIN_MS) {
    if (await mayNotRepeat(proposal, deps)) return action;
    const result = await deps.actions.act(deps.actions.describe(proposal, { instance }));
    // A rejection proves nothing about the first request.
    return result.outcome === 'accepted' ? recorded(action, 'accepted', deps, how, result.newRunId) : action;
  }
  const found = await read({ label: [formatStamp({ ...proposal, instance })], fromDate: at - CLOCK_MARGIN_MS });
  const [message] = typeof found === 'string' ? [] : found;
  if (message !== undefined) return recorded(action, 'accepted', deps, how, message.messageId);
  if (typeof found !== 'string' && age >= LOGGED_AFTER_MS) {
    return recorded(action, 'confirmed_not_applied', deps, 'the log has no message of this action');
  }
  return age < UNRESOLVABLE_AFTER_MS ? action : recorded(action, 'unresolvable', deps, 'the log could not be read');
}

/** Finds out how a message ended. */
async function ended(action: Republished, read: ReadLog | undefined, deps: EngineParts): Promise<Republished> {
  // The collector's log shows the end sooner. A read also finds messages that it does not count.
  const told = (['delivered', 'failed'] as const).find((end) => logTells(action.proposal, end, deps));
  const end = told ?? (read && (await readEnd(action, read, deps)));
  if (end !== undefined) return recorded(action, end === 'failed' ? 'failed_again' : end, deps);
  if (deps.clock.now() - action.at <= UNRESOLVABLE_AFTER_MS) return action;
  return recorded(action, 'unverified', deps, 'the message was published, but the log shows no end of it');
}

async function readEnd({ proposal, newRunId, at }: Republished, read: ReadLog, { clock }: EngineParts) {
  if (newRunId === undefined || clock.now() - at < retryHorizon(proposal.retries)) return undefined;
  const found = await read({ messageId: newRunId });
  const states = typeof found === 'string' ? [] : found.map(({ state }) => state);
  if (states.includes('DELIVERED')) return 'delivered';
  return states.includes('FAILED') || states.includes('CANCELLED') ? 'failed' : undefined;
}

/** @returns the action with the outcome, or as it was if it has got another one since */
async function recorded(
  action: Republished,
  outcome: ActionOutcome,
  deps: EngineParts,
  detail?: string,
  newRunId = action.newRunId,
): Promise<Republished> {
  return (await record(action, outcome, deps, detail, newRunId)) ? { ...action, outcome, newRunId } : action;
}

/** Deletes the dead letter of a delivered message, and those of its earlier failures. */
async function deleteEntries(action: Republished, deps: EngineParts): Promise<void> {
  const { account, lineage, dlqId } = action.proposal;
  if (deps.clock.now() - action.at > DELETE_WITHIN_MS) {
    await record(action, 'verified', deps, 'delivered, but its entry could not be deleted from the DLQ');
    return;
  }
  if (await mayNotRepeat(action.proposal, deps)) return;
  const earlier = (await deps.ledger.resumes(account, [lineage])).get(lineage) ?? [];
  for (const id of new Set([...earlier.map((one) => one.dlqId), dlqId])) {
    const request = { operation: 'delete-dlq', account, dlqIds: [id] } as const;
    const result = await deps.actions.act(request);
    await pauseIfMore(action.proposal, request, result, deps);
    if (result.outcome !== 'accepted') return;
    await deps.ledger.forgetDeadLetter(account, id);
  }
  await record(action, 'verified', deps);
}
