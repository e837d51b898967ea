/**
 * Keeps the ends of messages of resumed runs. The log has them sooner than a DLQ listing. The newest ends are kept, in
 * memory only.
 */
import type { EndedAttemptsRead, ResumeEnd } from '#foundation/domain/ended-attempts.ts';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';

/** Maximum number of ends per account and kind, so that deliveries cannot displace failures. */
const MOST = 10_000;

export class ResumeEnds {
  readonly #known = new Map<string, Set<string>>();

  /** Adds a commit of the log reading. Must be called once per commit. */
  take(account: string, { resumeEnds }: Pick<EndedAttemptsRead, 'resumeEnds'>): void {
    for (const resume of resumeEnds) {
      const known = getOrAdd(this.#known, `${account}\0${resume.end}`, () => new Set<string>());
      const key = keyOf(resume);
      // The key is deleted first, so that the oldest key stays at the front.
      known.delete(key);
      known.add(key);
      const [oldest] = known;
      if (known.size > MOST && oldest !== undefined) known.delete(oldest);
    }
  }

  /** Returns true if a message of this attempt to this URL ended with this kind. */
  has(account: string, resume: ResumeEnd): boolean {
    return this.#known.get(`${account}\0${resume.end}`)?.has(keyOf(resume)) === true;
  }
}

function keyOf({ instance, lineage, attempt, url }: ResumeEnd): string {
  return `${instance}\0${lineage}\0${attempt}\0${url}`;
}
