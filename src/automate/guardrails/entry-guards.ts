/** Guards of an entry: each allows or denies one. */
import { sharedLabel } from '#foundation/domain/labels.ts';
import { parseStamp } from '#foundation/domain/lineage.ts';
import { isRepair } from '#foundation/domain/plan.ts';
import type { Candidate, EntryRules, GuardedEntry, Objection } from './guard.ts';

type GuardedCandidate = Candidate<GuardedEntry>;

/**
 * Denies entries with a protected label (`no-auto`, `legal-hold`) to every policy and action. A prune does not see
 * labels, so it protects nothing. Never overridden. Remedy: repair the entry manually.
 */
export function protectedLabel({ entry }: GuardedCandidate, { protectedLabels }: EntryRules): Objection | undefined {
  const label = sharedLabel(entry.labels, protectedLabels);
  return label === undefined ? undefined : { reason: label };
}

/**
 * Denies a resume of a run whose failure function runs, has run, or was canceled: it would repeat work that was undone.
 * Only states listed in `select.failureFunctionState` override this guard. Remedy: list a state there if a resume after
 * it is right.
 */
export function failureFunction({ entry }: GuardedCandidate, rules: EntryRules): Objection | undefined {
  if (rules.action !== 'workflow-dlq.resume') return undefined;
  const state = entry.failureFunctionState;
  if (state === undefined || state === 'CALLBACK_FAIL') return undefined;
  const onRequest = state === 'CALLBACK_SUCCESS' || state === 'CALLBACK_CANCELED';
  return onRequest && rules.failureFunctionStates.includes(state) ? undefined : { reason: state };
}

/**
 * Denies a republish of a message whose body is not kept, is redacted, incomplete or too large; that was created before
 * `action.notBefore`; or whose schedule has delivered a later message (see `action.evenIfRepeated`). Remedy: set
 * `deadLetters.bodies` of the account, for messages that fail from then on.
 */
export function body({ unpublishable }: GuardedCandidate): Objection | undefined {
  return unpublishable === undefined ? undefined : { reason: unpublishable };
}

/** Denies an entry that another instance has stamped. Remedy: find the other daemon, and keep only one of them. */
export function otherInstance({ stampedBy }: GuardedCandidate): Objection | undefined {
  return stampedBy === undefined ? undefined : { reason: `stamped by instance ${stampedBy}` };
}

/**
 * For a policy with `on.deploy`: denies an entry that no deploy is about, that failed after it, or whose deploy was
 * rolled back. Remedy: deploy a fix, and report it.
 */
export function deploy(
  { entry, deploy: last }: GuardedCandidate,
  { now, afterDeploy }: EntryRules,
): Objection | undefined {
  if (last === undefined) return undefined;
  if (last === null) return { reason: 'no deploy is about it' };
  const { version, at, isRollback } = last;
  if (isRollback) return { reason: `the deploy of ${version} was a roll-back` };
  if (entry.createdAt >= at) return { reason: `failed after the deploy of ${version}` };
  const until = at + afterDeploy;
  return now < until ? { reason: `waits after the deploy of ${version}`, until } : undefined;
}

/**
 * Limits the resumes of a run (3) and spaces them with growing waits (10 m, 1 h, 6 h), across all dlqIds of the run. A
 * rejected action waits as long. A label that cannot be sent again denies the entry. Remedy: find out why the run fails
 * again before you raise `limits.attempts`.
 */
export function attempts(candidate: GuardedCandidate, rules: EntryRules): Objection | undefined {
  // Without this wait, rejected entries would come first in every run and keep the others waiting.
  const { rejections, lastRejectedAt = 0 } = candidate;
  const refused = waiting('rejected by the service, backing off', rejections, lastRejectedAt, rules);
  if (!isRepair(rules.action)) return refused;

  const { attempts, entry } = candidate;
  if (attempts >= rules.maxAttempts) return { reason: `${attempts} of ${rules.maxAttempts}` };
  // The labels and the stamp of the resumed run share one header. A label that the header cannot carry unchanged cannot
  // be sent again. Without the stamp, the attempts could not be counted.
  if (entry.labels.some((label) => parseStamp(label) === undefined && !SENDABLE.test(label))) {
    return { reason: 'a label cannot be sent again together with the stamp' };
  }
  // An attempt that only the stamp records was made before the run failed again.
  const last = candidate.lastAttemptAt ?? entry.createdAt;
  // What failed then has been replaced since.
  const isReplaced = (candidate.deploy?.at ?? -Infinity) > last;
  return (isReplaced ? undefined : waiting('backing off', attempts, last, rules)) ?? refused;
}

function waiting(reason: string, times: number, last: number, { now, backoff }: EntryRules): Objection | undefined {
  if (times === 0) return undefined;
  const until = last + (backoff[Math.min(times, backoff.length) - 1] ?? 0);
  return now < until ? { reason, until } : undefined;
}

/** Visible ASCII with inner spaces, without the comma that separates labels. */
const SENDABLE = /^[!-+\--~]([ -+\--~]*[!-+\--~])?$/;

const RESUME_BLOCKS_DELETE_MS = 86_400_000;

/**
 * Prevents double actions: an id that may have had its effect is never sent again, nor a run resumed through two
 * entries. An entry belongs to one policy. A run that was resumed within 24 h is not deleted. Remedy: none needed;
 * later readings resolve unknown outcomes.
 */
export function claim(candidate: GuardedCandidate, { action, now }: EntryRules): Objection | undefined {
  if (candidate.sentBefore) return { reason: 'sent before' };
  if (candidate.lineageTaken) return { reason: 'another entry of the same run is listed' };
  if (candidate.ownedBy !== undefined) return { reason: `belongs to ${candidate.ownedBy}` };
  if (isRepair(action)) return undefined;
  const until = resumedAt(candidate) + RESUME_BLOCKS_DELETE_MS;
  return now < until ? { reason: 'resumed within a day', until } : undefined;
}

/** Time of the last resume. A resume that only the stamp records was made before the run failed again. */
function resumedAt({ attempts, lastAttemptAt, entry }: GuardedCandidate): number {
  return lastAttemptAt ?? (attempts > 0 ? entry.createdAt : -Infinity);
}

/**
 * Announces a delete: the first run that matches an entry lists it, a run after `action.grace` deletes it. Remedy:
 * review the entries that will be deleted.
 */
export function grace({ firstMatchedAt }: GuardedCandidate, { action, grace, now }: EntryRules): Objection | undefined {
  if (isRepair(action) || grace === 0) return undefined;
  if (firstMatchedAt === undefined) return { reason: 'matched for the first time', until: now + grace };
  const until = firstMatchedAt + grace;
  return now >= until ? undefined : { reason: 'within the grace period', until };
}
