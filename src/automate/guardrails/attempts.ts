import { parseStamp } from '#foundation/domain/lineage.ts';
import type { Candidate, EntryRules, Objection } from './guard.ts';

/**
 * Limits the resumes of a run and spaces them with growing waits. The limit counts across all dlqIds of the run.
 * Deletes have no limit of attempts, but they wait after a rejection by the service.
 */
export function attempts(candidate: Candidate, rules: EntryRules): Objection | undefined {
  // Without this wait, rejected entries would come first in every run and keep the others waiting.
  const { rejections, lastRejectedAt = 0 } = candidate;
  const refused = backingOffRefusal(rejections, lastRejectedAt, rules);
  if (rules.action !== 'workflow-dlq.resume') return refused;

  const { attempts, entry } = candidate;
  if (attempts >= rules.maxAttempts) return { reason: `${attempts} of ${rules.maxAttempts}` };
  // The labels and the stamp of the resumed run share one header. A label that the header cannot carry unchanged cannot
  // be sent again. Without the stamp, the attempts could not be counted.
  if (entry.labels.some((label) => parseStamp(label) === undefined && !SENDABLE.test(label))) {
    return { reason: 'a label cannot be sent again together with the stamp' };
  }
  // An attempt that only the stamp records was made before the run failed again.
  return waiting('backing off', attempts, candidate.lastAttemptAt ?? entry.createdAt, rules) ?? refused;
}

/** Objection while a rejected entry backs off. `last` is the time of its last rejection, in epoch milliseconds. */
export function backingOffRefusal(times: number, last: number, rules: Waits): Objection | undefined {
  return waiting('rejected by the service, backing off', times, last, rules);
}

type Waits = Pick<EntryRules, 'now' | 'backoff'>;

function waiting(reason: string, times: number, last: number, { now, backoff }: Waits): Objection | undefined {
  if (times === 0) return undefined;
  const until = last + (backoff[Math.min(times, backoff.length) - 1] ?? 0);
  return now < until ? { reason, until } : undefined;
}

/** Visible ASCII with inner spaces, without the comma that separates labels. */
const SENDABLE = /^[!-+\--~]([ -+\--~]*[!-+\--~])?$/;
