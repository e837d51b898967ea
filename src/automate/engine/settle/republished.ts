/**
 * Settles messages that were published again: published, found to be delivered by the log, and only then deleted from
 * the DLQ. Each step is recorded before the next one begins, so a crash continues where it was. A publish with a lost
 * response is repeated under its deduplication id while the service still knows the id; afterwards the log decides.
 */
import { CLOCK_MARGIN_MS } from '#foundation/domain/clock-skew.ts';
import { formatStamp } from '#foundation/domain/lineage.ts';
import type { RepublishProposal } from '#foundation/domain/plan.ts';
import type { ActionRecord } from '../../ledger/intents.ts';
import { retryHorizon } from '../../guardrails/campaign.ts';
import { pauseIfMore } from '../act/sending.ts';
import type { EngineParts } from '../guard/engine-parts.ts';
import { logTells, mayNotRepeat, record, UNRESOLVABLE_AFTER_MS } from './records.ts';

/** The service knows a deduplication id for ten minutes. A repetition must arrive within them. */
const REPEAT_WITHIN_MS = 480_000;
/** Time after which a message that was published has an entry in the log. */
const LOGGED_AFTER_MS = 1_800_000;
/** Time after which a letter that cannot be deleted is left. */
const DELETE_WITHIN_MS = 7 * 86_400_000;
/** Interval of reads of the log, which the collector reads as well. */
const READ_EVERY_MS = 60_000;

export type Republished = ActionRecord & { readonly proposal: RepublishProposal };

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
  const key = `${first.proposal.account} log`;
  const mayRead = deps.clock.monotonic() - (deps.listedAt.get(key) ?? -Infinity) >= (deps.listEveryMs ?? READ_EVERY_MS);
  if (mayRead) deps.listedAt.set(key, deps.clock.monotonic());
  for (const action of actions) {
    if (signal.aborted) return;
    const known = action.outcome === 'unknown' ? await resolve(action, mayRead, deps, signal) : action;
    const delivered = known?.outcome === 'accepted' ? await verify(known, mayRead, deps, signal) : known;
    if (delivered?.outcome === 'delivered') await deleteLetters(delivered, deps);
  }
}

/** Finds out whether a message was published. @returns the action, if it was */
async function resolve(
  action: Republished,
  mayRead: boolean,
  deps: EngineParts,
  signal: AbortSignal,
): Promise<Republished | undefined> {
  const { proposal } = action;
  const age = deps.clock.now() - action.at;
  if (!mayRead) return undefined;
  if (age < REPEAT_WITHIN_MS) {
    if (await mayNotRepeat(proposal, deps)) return undefined;
    const result = await deps.actions.act(deps.actions.describe(proposal, { instance: deps.ledger.instance }));
    // A rejection proves nothing about the first request.
    return result.outcome === 'accepted' ? published(action, result.newRunId, deps) : undefined;
  }
  const of = { label: stampOf(proposal, deps), fromDate: action.at - CLOCK_MARGIN_MS };
  const found = await deps.actions.findEnd(proposal.account, of, signal);
  if (typeof found === 'object') return published(action, found.messageId, deps);
  if (found === undefined && age >= LOGGED_AFTER_MS) {
    await record(action, 'confirmed_not_applied', deps, 'the log has no message of this action');
  } else if (age >= UNRESOLVABLE_AFTER_MS) {
    await record(action, 'unresolvable', deps, 'the log could not be read');
  }
  return undefined;
}

async function published(
  action: Republished,
  newRunId: string | undefined,
  deps: EngineParts,
): Promise<Republished | undefined> {
  const isRecorded = await record(action, 'accepted', deps, 'repeated under its id, or found in the log', newRunId);
  return isRecorded ? { ...action, outcome: 'accepted', newRunId } : undefined;
}

/** Finds out how the message ended. @returns the action, if it was delivered */
async function verify(
  action: Republished,
  mayRead: boolean,
  deps: EngineParts,
  signal: AbortSignal,
): Promise<Republished | undefined> {
  const end = await endOf(action, mayRead, deps, signal);
  if (end === 'delivered' && (await record(action, 'delivered', deps))) return { ...action, outcome: 'delivered' };
  if (end === 'failed') await record(action, 'failed_again', deps);
  if (end === undefined && deps.clock.now() - action.at > UNRESOLVABLE_AFTER_MS) {
    await record(action, 'unverified', deps, 'the message was published, but the log shows no end of it');
  }
  return undefined;
}

/** The collector's log shows the end sooner. A read also finds messages that it does not count. */
async function endOf(
  { proposal, newRunId, at }: Republished,
  mayRead: boolean,
  deps: EngineParts,
  signal: AbortSignal,
): Promise<'delivered' | 'failed' | undefined> {
  const told = (['delivered', 'failed'] as const).find((end) => logTells(proposal, end, deps));
  if (told !== undefined) return told;
  if (!mayRead || deps.clock.now() - at < retryHorizon(proposal.retries)) return undefined;
  if (newRunId === undefined) return undefined;
  const found = await deps.actions.findEnd(proposal.account, { messageId: newRunId }, signal);
  return typeof found === 'object' ? found.end : undefined;
}

/** Deletes the letter of a delivered message, and those of its earlier failures. */
async function deleteLetters(action: Republished, deps: EngineParts): Promise<void> {
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

function stampOf({ lineage, attempt }: RepublishProposal, { ledger: { instance } }: EngineParts): string {
  return formatStamp({ instance, lineage, attempt });
}
