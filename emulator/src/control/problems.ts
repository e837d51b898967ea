import type { z } from 'zod';

/**
 * Returns every problem of an invalid value, each with its place.
 *
 * @param whole name of the value
 */
export function problemsOf(error: z.ZodError, whole: string): string {
  return error.issues.flatMap((issue) => problems(issue, { whole, at: [] })).join('; ');
}

interface Place {
  readonly whole: string;
  readonly at: readonly PropertyKey[];
}

function problems(issue: z.core.$ZodIssue, { whole, at }: Place): readonly string[] {
  const path = [...at, ...issue.path];
  const place = path.length === 0 ? whole : path.join('.');
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [`${place}: ${issue.message}`];
  const ways = issue.errors.map((one) => one.flatMap((inner) => problems(inner, { whole, at: path })).join(', '));
  return [ways.join('; or ')];
}
