/** Patterns of `re()`, as RE2: no text can make a match slow. They are literals, compiled with the expression. */
import { RE2JS } from 're2js';

const MAX_PATTERN = 1_000;
const compiled = new Map<string, RE2JS>();

/** Error in a pattern; undefined if it compiles. */
export function patternFault(pattern: string): string | undefined {
  if (pattern.length > MAX_PATTERN) return `a pattern has at most ${MAX_PATTERN} characters`;
  try {
    compile(pattern);
    return undefined;
  } catch (error) {
    return `not a valid RE2 pattern: ${String(error).replace(/^.*?error parsing regexp: /, '')}`;
  }
}

/** True if the pattern occurs anywhere in the text. `^` and `$` anchor it. */
export function findsPattern(pattern: string, text: string): boolean {
  return compile(pattern).matcher(text).find();
}

/** Compiles a pattern once. The cache needs no limit: patterns are literals of loaded policies. */
function compile(pattern: string): RE2JS {
  const known = compiled.get(pattern) ?? RE2JS.compile(pattern);
  compiled.set(pattern, known);
  return known;
}
