/** An invariant that does not hold. */
export class Violation extends Error {
  readonly detail: string;

  constructor(invariant: string, detail: unknown) {
    super(invariant);
    this.detail = typeof detail === 'string' ? detail : JSON.stringify(detail, undefined, 1);
  }
}

/** @throws {Violation} if there is anything in the list */
export function none(invariant: string, found: readonly unknown[]): void {
  if (found.length > 0) throw new Violation(invariant, found.slice(0, 10));
}
