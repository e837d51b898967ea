/** Field that an expression can read: its type, and whether it can be absent. */

export interface FactField {
  /** The type's name in the expression language. */
  readonly type: string;
  /** True if the field can be absent: an expression must check `has()` first. */
  readonly optional: boolean;
  /** All values of the text; absent if any text is possible. */
  readonly values?: readonly string[];
}

export const always = (type: string): FactField => ({ type, optional: false });
export const maybe = (type: string): FactField => ({ type, optional: true });

/** Field with one of these texts. */
export const oneOf = (values: readonly string[]): FactField => ({ type: 'string', optional: false, values });
