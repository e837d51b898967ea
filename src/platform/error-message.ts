/** What something that was thrown says: nothing promises that it is an Error. */
export function errorMessage(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
