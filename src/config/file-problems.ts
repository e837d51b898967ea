/** Problems of one file, in its order. */
import type { Problem } from './problem.ts';
import type { readSource } from './read-file.ts';
import type { Fault } from './source-text.ts';
import type { YamlFile } from './yaml-file.ts';

/** Syntax and schema problems, in the order of the file. After a syntax error, schema problems are unreliable. */
export function problemsOf(yaml: YamlFile, faults: readonly Fault[]): Problem[] {
  const { source, brokenAt } = yaml;
  const isSound = brokenAt === Infinity;
  const lastSure = isSound ? Infinity : source.text.lastIndexOf('\n', brokenAt - 1);
  const sure = faults.filter((fault) => isSound || (fault.until ?? fault.end) <= lastSure);
  for (const { hidden } of sure) if (hidden !== undefined) source.mask(hidden.start, hidden.end);
  return [...yaml.faults, ...sure].sort((a, b) => a.start - b.start).map((fault) => source.problem(fault));
}

export function unread(read: Extract<ReturnType<typeof readSource>, { ok: false }>): Problem {
  const { source, offset, message, help } = read;
  return source.problem({ start: offset, end: offset + 1, path: '', message, help });
}
