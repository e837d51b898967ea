/** URL Group with its endpoints (interface 2.1). */
export interface UrlGroup {
  readonly name: string;
  /** Epoch milliseconds. */
  readonly createdAt?: number;
  /** Epoch milliseconds. */
  readonly updatedAt?: number;
  readonly endpoints: readonly { readonly name?: string; readonly url: string }[];
}
