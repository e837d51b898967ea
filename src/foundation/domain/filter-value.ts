/**
 * Values of filters. Pure. A service may trim, normalize or split the text of a filter. If nothing is left, it may
 * treat the filter as absent, and a bulk call without a filter acts on everything. Configuration, commands, API and
 * client all ask here.
 */

/** Characters that take ink. Marks alone, unassigned and private characters do not count. */
const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u;
/** Commas, and characters without ink: blank Braille, placeholders of objects and notes, fillers. */
const IGNORED = /[,\u{2800}\u{FFFC}\u{FFFD}\u{1D159}\p{Default_Ignorable_Code_Point}]/gu;

/** Returns true for text without a visible character other than commas, also after compatibility normalization. */
export function isBlank(text: string): boolean {
  return ![text, text.normalize('NFKC')].every((form) => VISIBLE.test(form.replaceAll(IGNORED, '')));
}

/** Returns what is wrong with one value of a filter; undefined if it can be sent. */
export function filterFault(value: unknown): string | undefined {
  if (typeof value !== 'string') return 'must be text';
  if (isBlank(value)) return 'has no visible text; a service may treat it as no filter';
  return value.includes(',') ? 'contains a comma, which would separate two values; write two values' : undefined;
}
