/**
 * Keeps how messages of resumed runs ended. The log shows it sooner than a listing of the DLQ does. The newest ends are
 * kept, in memory alone.
 */
import type { EndedAttemptsRead, ResumeEnd } from '#foundation/domain/ended-attempts.ts';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';

/** Most ends kept of one account and kind: deliveries must not push out failures. */
const MOST = 10_000;

export class ResumeEnds {
  readonly #known = new Map<string, Set<string>>();

  /** To be called with each commit of the reading of the log. */
  take(account: string, { resumeEnds }: Pick<EndedAttemptsRead, 'resumeEnds'>): void {
    for (const resume of resumeEnds) {
      const known = getOrAdd(this.#known, `${account}\0${resume.end}`, () => new Set<string>());
      const key = keyOf(resume);
      // Deleted first, so that the oldest key is the first.
      known.delete(key);
      known.add(key);
      const [oldest] = known;
      if (known.size > MOST && oldest !== undefined) known.delete(oldest);
    }
  }

  /** Returns whether a message of this attempt, on its way to this URL, ended like this. */
  has(account: string, resume: ResumeEnd): boolean {
    return this.#known.get(`${account}\0${resume.end}`)?.has(keyOf(resume)) === true;
  }
}

function keyOf({ instance, lineage, attempt, url }: ResumeEnd): string {
  return `${instance}\0${lineage}\0${attempt}\0${url}`;
}
