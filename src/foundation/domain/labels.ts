/**
 * Labels of messages and runs. Pure. On the wire they are a text with commas, a list, or both, and parts may have
 * blanks around them. A label itself has neither.
 */

/** Returns the labels in texts, each once. */
export function labelsIn(texts: readonly string[]): readonly string[] {
  const labels = texts.flatMap((text) => text.split(',')).map((label) => label.trim());
  return [...new Set(labels)].filter((label) => label !== '');
}

/** Returns the first wanted label that is among the labels. Configured labels may have blanks around them. */
export function sharedLabel(labels: readonly string[], wanted: readonly string[]): string | undefined {
  return wanted.find((label) => labels.includes(label.trim()));
}
