/** Blank texts. Pure. */

const BLANK = /^[\s\p{Cc}\p{Cf}\p{Z}\p{Default_Ignorable_Code_Point}]*$/u;

/**
 * Returns true for text without a visible character. A service may trim it to nothing, and a bulk call with nothing as
 * its filter selects everything.
 */
export function isBlank(text: string): boolean {
  return BLANK.test(text);
}
