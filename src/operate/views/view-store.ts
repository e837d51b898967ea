/**
 * Port for what the replicas show of their accounts. A view is one document, and its long lists are in slices, which are
 * named after their content. A slice is written once, however often its list changes elsewhere.
 */

/** View of one account as stored. */
export interface StoredView {
  /** Epoch milliseconds of the write, by the clock of the store. Each write has another time. */
  readonly at: number;
  readonly body: Uint8Array;
  /** Slices that were asked for. One that is missing was replaced, and the next reading has the new ones. */
  readonly slices: ReadonlyMap<string, Uint8Array>;
}

export interface NewView {
  readonly account: string;
  readonly body: Uint8Array;
  /** Slices that the store does not have yet. */
  readonly added: ReadonlyMap<string, Uint8Array>;
  /** Ids of all slices of the view. Others of the account are deleted. Absent if they are as before. */
  readonly slices?: readonly string[];
}

/** Returns the ids of the slices to read, for the body of a view. */
export type Wanted = (account: string, body: Uint8Array) => readonly string[];

/** Returns the accounts whose views to read. */
export type Choose = (times: {
  /** Present time of the store, epoch milliseconds. */
  readonly now: number;
  /** Time of each view, by account. */
  readonly views: ReadonlyMap<string, number>;
}) => readonly string[];

export interface ViewStore {
  /** Returns the chosen views of accounts that have one, by account. All of it is of one moment. */
  read(choose: Choose, wanted: Wanted): Promise<ReadonlyMap<string, StoredView>>;
  /** Ids of the slices of an account. */
  slices(account: string): Promise<readonly string[]>;
  /** Writes views as the owner of their accounts. Rejects if another replica owns one; none is written then. */
  write(views: readonly NewView[]): Promise<void>;
}
