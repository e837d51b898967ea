/** Patterns of `re()`: RE2, so that no text can make one take long. They are literals, compiled with the expression. */
import { RE2JS } from 're2js';

const MAX_PATTERN = 1_000;
const compiled = new Map<string, RE2JS>();

/** What is wrong with a pattern; undefined when it compiles. */
export function patternFault(pattern: string): string | undefined {
  if (pattern.length > MAX_PATTERN) return `a pattern has at most ${MAX_PATTERN} characters`;
  try {
    compile(pattern);
    return undefined;
  } catch (error) {
    return `not a pattern of RE2: ${(error as Error).message.replace(/^error parsing regexp: /, '')}`;
  }
}

/** Whether the pattern is found anywhere in the text; ^ and $ bind it to the ends. */
export function findsPattern(pattern: string, text: string): boolean {
  return compile(pattern).matcher(text).find();
}

/** Patterns are literals of policies that were loaded: as many as anybody wrote. */
function compile(pattern: string): RE2JS {
  let known = compiled.get(pattern);
  if (known === undefined) {
    known = RE2JS.compile(pattern);
    compiled.set(pattern, known);
  }
  return known;
}
