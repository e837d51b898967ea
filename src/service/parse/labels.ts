import { memoByText } from '#foundation/platform/memo.ts';
import { notLonger, UnreadableField, type JsonObject } from './reader.ts';

const NONE: readonly string[] = [];

/** Parts of a `label`. The same few texts appear in every row. */
const labelsIn = memoByText(2_000, (label): readonly string[] => [
  ...new Set(
    label
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  ),
]);

/** Returns the union of `label`, which may contain several labels separated by commas, and `labels`. */
export function labelsOf(row: JsonObject): readonly string[] {
  const { label, labels } = row as { readonly label?: unknown; readonly labels?: unknown };
  if (label !== undefined && label !== null && typeof label !== 'string') throw new UnreadableField('label: not text');
  const single = label === undefined || label === null || label === '' ? NONE : labelsIn(notLonger(label, 'label'));
  if (labels === undefined || labels === null) return single;
  if (!isTexts(labels)) throw new UnreadableField('labels: not a list of texts');
  for (const text of labels) notLonger(text, 'labels');
  return [...new Set([...single, ...labels])].filter((text) => text !== '');
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
