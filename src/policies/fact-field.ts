/** A field that an expression can read: its type, and whether it may be missing. */

export interface FactField {
  /** The type's name in the expression language. */
  readonly type: string;
  /** May be missing: an expression asks `has()` first. */
  readonly optional: boolean;
}

export const always = (type: string): FactField => ({ type, optional: false });
export const maybe = (type: string): FactField => ({ type, optional: true });
