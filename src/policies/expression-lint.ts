/**
 * What the expression language allows and a policy may not say. The type checker refuses what has no meaning; this
 * refuses what would never end, what escapes the types, and what fails on entries that lack a field.
 */
import type { ASTNode } from '@marcbachmann/cel-js';
import { ENTRY_FIELDS } from './entry-facts.ts';

interface Complaint {
  readonly message: string;
  /** 0-based, into the source. */
  readonly offset: number;
}

/** Comprehensions multiply: each level of nesting walks a whole list again. */
const MAX_NESTING = 2;

const COMPREHENSIONS = new Set(['exists', 'all', 'exists_one', 'map', 'filter']);

/** A closed list, so that a new release of the library adds nothing by itself. */
const FUNCTIONS = new Set(
  [
    ...COMPREHENSIONS,
    'has size startsWith endsWith contains lowerAscii upperAscii trim indexOf lastIndexOf substring join',
    'string int uint double bool timestamp duration',
    'getDate getDayOfMonth getDayOfWeek getDayOfYear getFullYear getMonth',
    'getHours getMinutes getSeconds getMilliseconds',
  ].flatMap((names) => names.split(' ')),
);

const WHY_NOT: Readonly<Record<string, string>> = {
  matches: 'matches() can take hours on a few characters; use startsWith(), endsWith() or contains()',
  dyn: 'dyn() switches the type check off',
  bind: 'cel.bind() is not part of this language; write the expression out',
};

interface Scope {
  /** Optional fields that are known to be there. */
  readonly present: ReadonlySet<string>;
  readonly nesting: number;
}

export interface LintResult {
  /** The first thing that a policy may not say. */
  readonly complaint?: Complaint;
  /** An expression that reads nothing of `entry` would choose every entry or none. */
  readonly readsEntry: boolean;
}

/** Walks the tree as it was written; `has()` counts for what comes after it. */
export function lint(ast: ASTNode): LintResult {
  const state = { readsEntry: false };
  const complaint = visit(ast, { present: new Set(), nesting: 0 }, state);
  return { ...state, ...(complaint !== undefined && { complaint }) };
}

function visit(node: ASTNode, scope: Scope, state: { readsEntry: boolean }): Complaint | undefined {
  const all = (nodes: readonly ASTNode[], inner: Scope = scope): Complaint | undefined => {
    for (const child of nodes) {
      const complaint = visit(child, inner, state);
      if (complaint !== undefined) return complaint;
    }
    return undefined;
  };
  const knowing = (node: ASTNode, verdict: boolean): Scope => ({
    ...scope,
    present: new Set([...scope.present, ...presentWhen(node, verdict)]),
  });

  switch (node.op) {
    case 'value':
      return undefined;
    case 'id':
      if (node.args === 'entry') state.readsEntry = true;
      return undefined;
    case '.':
    case '.?': {
      const field = entryField(node);
      if (field !== undefined && ENTRY_FIELDS[field]?.optional === true && !scope.present.has(field)) {
        return complain(node, `entry.${field} may be missing: write has(entry.${field}) && …`);
      }
      return all([node.args[0]]);
    }
    case '[]':
    case '[?]':
      if (node.args[0].op === 'id' && node.args[0].args === 'entry') {
        return complain(node, 'write entry.name: entry[…] escapes the type check');
      }
      return all(node.args);
    case '&&':
      return all([node.args[0]]) ?? all([node.args[1]], knowing(node.args[0], true));
    case '||':
      return all([node.args[0]]) ?? all([node.args[1]], knowing(node.args[0], false));
    case '?:':
      return (
        all([node.args[0]]) ??
        all([node.args[1]], knowing(node.args[0], true)) ??
        all([node.args[2]], knowing(node.args[0], false))
      );
    case 'call':
      return visitCall(node, node.args[0], undefined, node.args[1], scope, all, state);
    case 'rcall':
      return visitCall(node, node.args[0], node.args[1], node.args[2], scope, all, state);
    case 'list':
      return all(node.args);
    case 'map':
      return all(node.args.flat());
    case '!_':
    case '-_':
      return all([node.args]);
    case '!=':
    case '==':
    case 'in':
    case '+':
    case '-':
    case '*':
    case '/':
    case '%':
    case '<':
    case '<=':
    case '>':
    case '>=':
      return all(node.args);
  }
}

function visitCall(
  node: ASTNode,
  name: string,
  receiver: ASTNode | undefined,
  args: readonly ASTNode[],
  scope: Scope,
  all: (nodes: readonly ASTNode[], inner?: Scope) => Complaint | undefined,
  state: { readsEntry: boolean },
): Complaint | undefined {
  // A method's own place is that of its receiver: point at its name.
  const offset = receiver === undefined ? node.start : node.input.indexOf(name, receiver.end);
  if (!FUNCTIONS.has(name)) return { message: WHY_NOT[name] ?? `${name}() is not part of this language`, offset };
  if (name === 'has') {
    const argument = args[0];
    const field = argument === undefined ? undefined : entryField(argument);
    if (field === undefined) return complain(node, 'has() takes a field of entry: has(entry.status)');
    if (ENTRY_FIELDS[field] === undefined) return complain(argument!, `entry has no field ${field}`);
    state.readsEntry = true;
    return undefined;
  }
  const walked = receiver === undefined ? undefined : all([receiver]);
  if (walked !== undefined || !COMPREHENSIONS.has(name)) return walked ?? all(args);
  const nesting = scope.nesting + 1;
  if (nesting > MAX_NESTING) return { message: `comprehensions nest at most ${MAX_NESTING} deep`, offset };
  if (args[0]?.op === 'id' && args[0].args === 'entry') {
    return complain(args[0], 'the name `entry` is taken: choose another for the element');
  }
  return all(args.slice(1), { ...scope, nesting });
}

/** The optional fields that are there for certain when `node` came out as `verdict`. */
function presentWhen(node: ASTNode, verdict: boolean): readonly string[] {
  if (node.op === '!_') return presentWhen(node.args, !verdict);
  if ((node.op === '&&' && verdict) || (node.op === '||' && !verdict)) {
    return node.args.flatMap((side) => presentWhen(side, verdict));
  }
  if (verdict && node.op === 'call' && node.args[0] === 'has' && node.args[1][0] !== undefined) {
    const field = entryField(node.args[1][0]);
    return field === undefined ? [] : [field];
  }
  return [];
}

/** `name` of `entry.name`. */
function entryField(node: ASTNode): string | undefined {
  if (node.op !== '.' && node.op !== '.?') return undefined;
  return node.args[0].op === 'id' && node.args[0].args === 'entry' ? node.args[1] : undefined;
}

function complain(node: ASTNode, message: string): Complaint {
  return { message, offset: node.pos };
}
