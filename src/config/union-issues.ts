/**
 * Faults of unions. The parser only says that no member matches. The user meant one of them, so only the faults of that
 * member are reported.
 */
import type * as z from 'zod/mini';
import { discriminatorsOf, literalsAt, membersOf, schemaAt, unwrap } from './schema-walk.ts';
import { pathText } from './yaml-place.ts';

type Issue = z.core.$ZodIssue;
type UnionIssue = z.core.$ZodIssueInvalidUnion;

/** @param value value at the root */
export function ofMeantMember(root: z.core.$ZodType, value: unknown, issues: readonly Issue[]): Issue[] {
  return issues.flatMap((issue) => (issue.code === 'invalid_union' ? ofUnion(root, value, issue) : [issue]));
}

function ofUnion(root: z.core.$ZodType, value: unknown, issue: UnionIssue): Issue[] {
  const schema = schemaAt(root, issue.path, value);
  const here = issue.path.reduce<unknown>(
    (at, part) => (at as Record<PropertyKey, unknown> | undefined)?.[part],
    value,
  );
  const union = schema === undefined ? undefined : unwrap(schema);
  const options = union === undefined ? [] : (union as z.core.$ZodUnion)._zod.def.options;
  const meant = union === undefined ? [] : membersOf(union, here);
  const errors = issue.errors.filter((_, index) => {
    const option = options[index];
    return option !== undefined && meant.includes(unwrap(option));
  });
  const [first = [], ...others] = errors;
  if (union === undefined) return first.map((inner) => below(issue, inner));
  const unmatched = untold(union, options, here);
  // A single member may be meant by a misspelt literal. That fault then lists the literals of all members.
  const misspelt = pathText(discriminatorsOf(union)[0] ?? []);
  const isMisspelt = unmatched.some(({ path, input }) => typeof input === 'string' && pathText(path) === misspelt);
  if (others.length === 0 && !isMisspelt) return first.map((inner) => below(issue, inner));
  const common = inAll(first, others).filter(({ path }) => !isMisspelt || pathText(path) !== misspelt);
  const told = [...common, ...unmatched];
  // At least one fault must remain, since the value is invalid.
  return told.length === 0 ? [issue] : told.map((inner) => below(issue, inner));
}

function below(issue: UnionIssue, inner: Issue): Issue {
  return { ...inner, path: [...issue.path, ...inner.path] };
}

/** Faults that all members have in common. */
function inAll(first: readonly Issue[], others: readonly (readonly Issue[])[]): Issue[] {
  return first.flatMap((issue): Issue[] => {
    const same = others.map((list) =>
      list.filter(({ code, path }) => code === issue.code && pathText(path) === pathText(issue.path)),
    );
    if (issue.code !== 'unrecognized_keys') {
      return same.every((list) => list.some(({ message }) => message === issue.message)) ? [issue] : [];
    }
    const keys = issue.keys.filter((key) =>
      same.every((list) => list.some((other) => other.code === 'unrecognized_keys' && other.keys.includes(key))),
    );
    return keys.length === 0 ? [] : [{ ...issue, keys }];
  });
}

/** First literal that would distinguish the members, if the value matches none of them. */
function untold(union: z.core.$ZodType, options: readonly z.core.$ZodType[], value: unknown): Issue[] {
  for (const path of discriminatorsOf(union)) {
    const holder = path
      .slice(0, -1)
      .reduce<unknown>((at, part) => (at as Record<string, unknown> | null)?.[part], value);
    // A missing or wrong parent has its own fault.
    if (typeof holder !== 'object' || holder === null || Array.isArray(holder)) continue;
    const values = [...literalsAt(options, path)];
    const given = (holder as Record<string, unknown>)[path.at(-1)!];
    if (typeof given === 'string' && values.includes(given)) continue;
    return [{ code: 'invalid_value', path: [...path], values, message: 'Invalid option', input: given }];
  }
  return [];
}
