/** A field that an expression can read: its type, and whether it may be missing. */

export interface FactField {
  /** The type's name in the expression language. */
  readonly type: string;
  /** May be missing: an expression asks `has()` first. */
  readonly optional: boolean;
  /** All values that a text can have; absent where it can be anything. */
  readonly values?: readonly string[];
}

export const always = (type: string): FactField => ({ type, optional: false });
export const maybe = (type: string): FactField => ({ type, optional: true });

/** A text that is one of these. */
export const oneOf = (values: readonly string[]): FactField => ({ type: 'string', optional: false, values });
