/**
 * Bodies of dead letters, from their failure callbacks: no operation of the service returns them. Times are epoch
 * milliseconds.
 */
import type { BodyLack } from '#foundation/domain/dead-letter.ts';
import type { BodyEdit } from '#foundation/domain/body-edit.ts';

/** Content of the failure callback of a dead letter. */
export interface KeptBody {
  readonly account: string;
  readonly dlqId: string;
  readonly messageId: string;
  /** Complete URL, which may have secrets. */
  readonly url: string;
  readonly method: string;
  /** Headers of the message. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly body: Uint8Array;
  readonly urlGroup?: string;
  readonly endpoint?: string;
  readonly scheduleId?: string;
  readonly maxRetries?: number;
  /** Headers that an operator set for the destination; an empty one is removed. */
  readonly changed?: Readonly<Record<string, string>>;
  /** Arrival of the callback. */
  readonly at: number;
}

/** Facts about a body in the store. */
export interface BodyFacts {
  readonly expiresAt: number;
  /** Length of the body; of one that is not kept, its length if it is known, else 0. */
  readonly size: number;
  /** Absent if the body is kept. */
  readonly lack?: BodyLack;
  /** Key that sealed the content; absent if it is stored in clear. */
  readonly keyId?: string;
}

/** Body for the store. */
export interface NewBody extends BodyFacts {
  /** Body, headers and addresses, sealed if `keyId` is present; absent if the body is not kept. */
  readonly content?: Uint8Array;
  /** Limit of all contents of the account, in bytes. */
  readonly maxTotal: number;
}

/** Makes bodies of an account ready for the store. */
export interface BodyKeeper {
  /** Maximum size of a body. */
  readonly maxBytes: number;
  /**
   * @param found body; or the reason why it cannot be kept, and its length
   * @returns the body for the store. `problem` says why the key cannot be used; the body is not kept then.
   */
  pack(
    found: KeptBody | (Pick<BodyFacts, 'size'> & { readonly lack: BodyLack }),
    at: number,
  ): NewBody & { readonly problem?: string };
}

/** Reads of the ledger. */
export interface BodyReads {
  /** Facts by dlqId. A letter without a row has none. */
  bodyFacts(account: string, dlqIds: readonly string[]): Promise<ReadonlyMap<string, BodyFacts>>;
  bodyContent(account: string, dlqId: string): Promise<Uint8Array | undefined>;
}

export interface BodyEdits {
  /** Stores the edited content of a dead letter, in place of an earlier one. */
  noteEdit(account: string, dlqId: string, edited: NewBody, at: number): Promise<void>;
}

export interface BodyRetention {
  /**
   * Applies the limits of an account to the bodies that it has. `keep` is in milliseconds; 0 ends all of them.
   *
   * @returns the number of contents that were dropped because of their total
   */
  retainBodies(account: string, limits: { readonly keep: number; readonly maxTotal: number }): Promise<number>;
  /** Deletes a batch of bodies that ended. @returns the number of contents by account; `more` if there are others */
  endBodies(now: number): Promise<{ readonly ended: ReadonlyMap<string, number>; readonly more: boolean }>;
  /** Returns the bytes of all contents, by account. */
  bodyBytes(): Promise<ReadonlyMap<string, number>>;
}

/** Reason: why no body can be used, and what to do. */
export interface NoBody {
  readonly reason: string;
}

/** Changes by an operator. Without `body`, it stays. */
export interface BodyChange {
  readonly body?: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Bodies for their readers. */
export interface KeptBodies {
  /** Returns which bodies are kept, without reading them. */
  states(
    account: string,
    dlqIds: readonly string[],
    ledger: BodyReads,
  ): Promise<ReadonlyMap<string, { readonly size: number; readonly until: number } | NoBody>>;
  /** Stores the changed content of a dead letter beside its own, sealed as that. A later change replaces it. */
  change(
    account: string,
    dlqId: string,
    change: BodyChange,
    ledger: BodyReads & BodyEdits,
  ): Promise<{ readonly edit: BodyEdit } | NoBody>;
  read(account: string, dlqId: string, ledger: BodyReads): Promise<{ readonly kept: KeptBody } | NoBody>;
}
