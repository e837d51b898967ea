/**
 * Lineage: one failed run across its repairs. A resume gives the run a new run id, and a new failure gives it a new
 * dlqId. The stamp is a label of the run, so that attempts are known even if the store is lost.
 */

export interface Stamp {
  readonly instance: string;
  readonly lineage: string;
  /** 1 for the first resume. */
  readonly attempt: number;
}

const STAMP = /^opsd:([\w-]{1,64}):([\w-]{1,64}):(\d{1,4})$/;

export function formatStamp(stamp: Stamp): string {
  return `opsd:${stamp.instance}:${stamp.lineage}:${stamp.attempt}`;
}

export function parseStamp(label: string): Stamp | undefined {
  // Called for every label of every entry; few labels are stamps.
  if (!isStamp(label)) return undefined;
  const match = STAMP.exec(label);
  if (match === null) return undefined;
  return { instance: match[1]!, lineage: match[2]!, attempt: Number(match[3]) };
}

/** Returns the newest stamp. If the service adds labels instead of replacing them, older stamps are present, too. */
export function newestStamp(labels: readonly string[]): Stamp | undefined {
  let newest: Stamp | undefined;
  for (const label of labels) {
    const stamp = parseStamp(label);
    if (stamp === undefined) continue;
    if (newest === undefined || stamp.attempt > newest.attempt) newest = stamp;
  }
  return newest;
}

/** Returns true if a label is the daemon's own stamp. Metrics exclude such labels. */
export function isStamp(label: string): boolean {
  return label.startsWith('opsd:');
}

/** Returns the labels that are not valid stamps. */
export function withoutStamps(labels: readonly string[]): readonly string[] {
  // Few runs have a stamp, so most lists are not copied.
  return labels.some(isStamp) ? labels.filter((label) => !STAMP.test(label)) : labels;
}
