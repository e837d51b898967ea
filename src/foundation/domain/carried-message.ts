/** Message of a dead letter, and its change before it is published again. */

/** Message as its failure callback reported it. */
export interface CarriedMessage {
  /** Complete URL, which may have secrets. */
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  /** Headers that an operator set for the destination; an empty one is removed. */
  readonly changed?: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

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
