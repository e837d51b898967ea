/**
 * The `where` of a policy: CEL behind an own interface. Everything that can be known of an expression is known when
 * it is compiled; what is left are entries on which it fails, and those are never chosen.
 */
import { Duration, Environment } from '@marcbachmann/cel-js/evaluator';
import { ENTRY_FIELDS, type EntryFacts } from './entry-facts.ts';
import { lint } from './expression-lint.ts';

type Verdict = 'match' | 'no' | 'error';

export interface CompiledWhere {
  readonly ok: true;
  /** `error` when a value is missing or an operation failed: the entry is not chosen, and it is counted. */
  evaluate(entry: EntryFacts): Verdict;
}

export interface RefusedWhere {
  readonly ok: false;
  readonly message: string;
  /** 0-based, into the source. */
  readonly offset: number;
}

/** Longer text is cut: an entry's fields are written by strangers. */
const MAX_TEXT = 65_536;
/** An entry with more labels is an error: a cut list would answer `!labels.exists(…)` wrongly. */
const MAX_LABELS = 256;

/** The type checker knows an entry by its class. */
class Entry {
  readonly [field: string]: unknown;
}

const environment = new Environment({ limits: { maxAstNodes: 300, maxDepth: 50 } })
  .registerType('Entry', {
    ctor: Entry,
    fields: Object.fromEntries(Object.entries(ENTRY_FIELDS).map(([name, field]) => [name, field.type])),
  })
  .registerVariable('entry', 'Entry');

/** Compiles an expression over `entry`, or says what is wrong with it and where. */
export function compileWhere(source: string): CompiledWhere | RefusedWhere {
  let parsed: ReturnType<typeof environment.parse>;
  try {
    parsed = environment.parse(source);
  } catch (error) {
    return refused(error);
  }
  // First what a policy may not say: its messages tell more than the type checker's.
  const { complaint, readsEntry } = lint(parsed.ast);
  if (complaint !== undefined) return { ok: false, ...complaint };
  const checked = parsed.check();
  if (!checked.valid) return refused(checked.error);
  if (checked.type !== 'bool') {
    return { ok: false, message: `the result must be bool, not ${checked.type}`, offset: 0 };
  }
  if (!readsEntry) {
    return { ok: false, message: 'reads nothing of `entry`: it would choose every entry or none', offset: 0 };
  }
  return {
    ok: true,
    evaluate(facts) {
      if (facts.labels.length > MAX_LABELS) return 'error';
      try {
        const result: unknown = parsed({ entry: languageValue(facts) });
        if (typeof result !== 'boolean') return 'error';
        return result ? 'match' : 'no';
      } catch {
        return 'error';
      }
    },
  };
}

/** Facts in the language's own types: whole numbers are bigint there, times Date. */
function languageValue(facts: EntryFacts): Entry {
  const { ageMs, ...rest } = facts;
  const values: Record<string, unknown> = { age: Duration.fromMilliseconds(ageMs) };
  for (const [name, value] of Object.entries(rest)) {
    const type = ENTRY_FIELDS[name]?.type;
    if (typeof value === 'string') values[name] = value.slice(0, MAX_TEXT);
    else if (typeof value !== 'number') values[name] = value.map((text) => text.slice(0, MAX_TEXT));
    else values[name] = type === 'int' ? BigInt(Math.trunc(value)) : new Date(value);
  }
  return Object.assign(new Entry(), values);
}

function refused(error: unknown): RefusedWhere {
  const known = error as {
    readonly code?: string;
    readonly summary?: string;
    readonly range?: { readonly start: number };
  };
  const offset = known.range?.start ?? 0;
  const message = known.summary ?? (error instanceof Error ? error.message : String(error));
  const missing = /^No such key: (.+)$/.exec(message)?.[1];
  if (missing !== undefined) return { ok: false, message: unknownField(missing), offset };
  return { ok: false, message: message.replaceAll('google.protobuf.', '').replace(/^\w/, lower), offset };
}

function unknownField(name: string): string {
  const near = Object.keys(ENTRY_FIELDS).find((field) => isNear(field.toLowerCase(), name.toLowerCase()));
  if (near !== undefined) return `entry has no field ${name}; did you mean ${near}?`;
  return `entry has no field ${name}; it has ${Object.keys(ENTRY_FIELDS).join(', ')}`;
}

/** One is the other with a letter more, less, changed or swapped at one place, or begins or ends with it. */
function isNear(a: string, b: string): boolean {
  if (a.endsWith(b) || b.endsWith(a) || a.startsWith(b) || b.startsWith(a)) return true;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < Math.min(a.length, b.length) - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  return Math.max(a.length, b.length) - start - end <= 2;
}

function lower(letter: string): string {
  return letter.toLowerCase();
}
