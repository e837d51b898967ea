/** Change of a failed message before it is published again. Its content is stored with the bodies of dead letters. */

export interface BodyEdit {
  /** SHA-256 of the edited body and headers, hexadecimal. */
  readonly sha256: string;
  /** Bytes of the body. */
  readonly size: number;
  /** Names of the changed headers. */
  readonly headers: readonly string[];
}

/** Id under which the store has the edited content of a dead letter. */
export function editOf(dlqId: string): string {
  return `${dlqId}/edit`;
}
