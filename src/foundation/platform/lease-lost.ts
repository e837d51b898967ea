/** Lost leases. */

/**
 * Returns true if another replica may own the account that a transaction was about: nothing was changed, and the store
 * works. The class of these errors is in a room that most rooms may not import, so their name is compared.
 */
export function isLeaseLost(error: unknown): boolean {
  return error instanceof Error && error.name === 'LeaseLostError';
}
