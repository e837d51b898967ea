import { labelsIn } from '#foundation/domain/labels.ts';
import { memoByText } from '#foundation/platform/memo.ts';
import { notLonger, UnreadableField, type JsonObject } from './reader.ts';

const NONE: readonly string[] = [];

/** Labels in a text. The same few texts appear in every row. */
const partsOf = memoByText(2_000, (text) => labelsIn([text]));

/** Returns the union of `label` and `labels`. Either may contain several labels separated by commas, with blanks. */
export function labelsOf(row: JsonObject): readonly string[] {
  const { label, labels } = row as { readonly label?: unknown; readonly labels?: unknown };
  if (label !== undefined && label !== null && typeof label !== 'string') throw new UnreadableField('label: not text');
  const single = label === undefined || label === null || label === '' ? NONE : partsOf(notLonger(label, 'label'));
  if (labels === undefined || labels === null) return single;
  if (!isTexts(labels)) throw new UnreadableField('labels: not a list of texts');
  return [...new Set([...single, ...labels.flatMap((text) => partsOf(notLonger(text, 'labels')))])];
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
