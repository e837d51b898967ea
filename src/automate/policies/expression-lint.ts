/**
 * Restrictions that the type checker does not enforce. Rejects expressions that never end, that escape the types, or
 * that fail on entries without a field.
 */
import type { ASTNode } from '@marcbachmann/cel-js';
import { nearest } from '#foundation/domain/suggest.ts';
import type { FactField } from './entry-facts.ts';
import { FACT_FUNCTIONS, TRIGGER_FIELDS, type Fields } from './environments.ts';
import { constantFault, type Evaluate } from './expression-constants.ts';
import { patternFault } from './text-patterns.ts';

interface Complaint {
  readonly message: string;
  /** 0-based offset into the source. */
  readonly offset: number;
}

/** Maximum depth of nested comprehensions: each level walks a whole list again. */
const MAX_NESTING = 2;

const COMPREHENSIONS = new Set(['exists', 'all', 'exists_one', 'map', 'filter']);

/** A closed list, so that a new release of the library adds no function. */
const FUNCTIONS = new Set(
  [
    ...COMPREHENSIONS,
    'has size startsWith endsWith contains lowerAscii upperAscii trim indexOf lastIndexOf substring join',
    'string int uint double bool timestamp duration',
    'getDate getDayOfMonth getDayOfWeek getDayOfYear getFullYear getMonth',
    'getHours getMinutes getSeconds getMilliseconds',
    're glob',
  ].flatMap((names) => names.split(' ')),
);

const WHY_NOT: Readonly<Record<string, string>> = {
  matches: 'matches() can run for hours on a short text; use re(text, pattern), or glob(text, pattern)',
  dyn: 'dyn() disables the type check; remove it',
  bind: 'cel.bind() is not part of this language; write the expression out',
};

interface Scope {
  /** Optional fields that are known to be present, such as `entry.status`. */
  readonly present: ReadonlySet<string>;
  readonly nesting: number;
}

/** Variables and facts that an expression may read. */
interface Readable {
  readonly variables: Readonly<Record<string, Fields>>;
  readonly hasFacts: boolean;
}

/** Name of a canary in an expression. */
export interface NamedCanary {
  readonly name: string;
  /** 0-based offset into the source. */
  readonly offset: number;
}

interface State extends Readable {
  readonly reads: Set<string>;
  readonly canaries: NamedCanary[];
  readonly evaluate: Evaluate;
}

export interface LintResult {
  /** First violation. */
  readonly complaint?: Complaint;
  /**
   * Variables and facts that the expression reads. An expression that reads nothing of its resource would match all
   * entries or none.
   */
  readonly reads: ReadonlySet<string>;
  /** Canaries that the expression names, which the configuration must have. */
  readonly canaries: readonly NamedCanary[];
}

/**
 * Walks the expression in source order; `has()` applies to the code after it.
 *
 * @param evaluate evaluates constant parts
 */
export function lint(ast: ASTNode, { variables, hasFacts }: Readable, evaluate: Evaluate): LintResult {
  const state: State = {
    variables: { ...variables, trigger: TRIGGER_FIELDS },
    hasFacts,
    reads: new Set(),
    canaries: [],
    evaluate,
  };
  const complaint = visit(ast, { present: new Set(), nesting: 0 }, state);
  return { reads: state.reads, canaries: state.canaries, ...(complaint !== undefined && { complaint }) };
}

function visit(node: ASTNode, scope: Scope, state: State): Complaint | undefined {
  const complaint = visitParts(node, scope, state);
  if (complaint !== undefined) return complaint;
  const fault = constantFault(node, state.evaluate);
  return fault && complain(fault.node, fault.message);
}

function visitParts(node: ASTNode, scope: Scope, state: State): Complaint | undefined {
  const all = (nodes: readonly ASTNode[], inner: Scope = scope): Complaint | undefined => {
    for (const child of nodes) {
      const complaint = visit(child, inner, state);
      if (complaint !== undefined) return complaint;
    }
    return undefined;
  };
  const knowing = (node: ASTNode, verdict: boolean): Scope => ({
    ...scope,
    present: new Set([...scope.present, ...presentWhen(node, verdict, state)]),
  });

  switch (node.op) {
    case 'value':
      return undefined;
    case 'id':
      if (isVariable(node.args, state)) state.reads.add(node.args);
      return undefined;
    case '.':
    case '.?': {
      const read = fieldRead(node, state);
      if (read !== undefined) {
        const path = `${read.variable}.${read.field}`;
        if (read.known === undefined) return complain(node, unknownField(read, state));
        if (read.known.optional && !scope.present.has(path)) {
          return complain(node, `${path} may be missing: write has(${path}) && …`);
        }
      }
      return all([node.args[0]]);
    }
    case '[]':
    case '[?]':
      if (node.args[0].op === 'id' && isVariable(node.args[0].args, state)) {
        const variable = node.args[0].args;
        return complain(node, `write ${variable}.name: ${variable}[…] escapes the type check`);
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
      return never(node.args[0], node.args[1], state) ?? never(node.args[1], node.args[0], state) ?? all(node.args);
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

/** Reports a literal that the field or fact can never equal. */
function never(read: ASTNode, other: ASTNode, state: State): Complaint | undefined {
  const { what, values } = choiceOf(read, state);
  if (values === undefined) return undefined;
  const literals = (other.op === 'list' ? other.args : [other]).flatMap((node) =>
    node.op === 'value' && typeof node.args === 'string' ? [{ node, text: node.args }] : [],
  );
  const wrong = literals.find(({ text }) => !values.includes(text));
  if (wrong === undefined) return undefined;
  const near = nearest(wrong.text, values);
  const help = near === undefined ? `it is one of ${values.join(', ')}` : `did you mean ${near}?`;
  return complain(wrong.node, `${what} is never ${JSON.stringify(wrong.text)}; ${help}`);
}

/** Name and values of a field or fact; no values if it can be any text. */
function choiceOf(node: ASTNode, state: State): { readonly what?: string; readonly values?: readonly string[] } {
  if (node.op === 'call' && Object.hasOwn(FACT_FUNCTIONS, node.args[0])) {
    const { values } = FACT_FUNCTIONS[node.args[0] as keyof typeof FACT_FUNCTIONS];
    return { what: `${node.args[0]}()`, ...(values && { values }) };
  }
  const read = fieldRead(node, state);
  const values = read?.known?.values;
  return values === undefined ? {} : { what: `${read!.variable}.${read!.field}`, values };
}

function visitCall(
  node: ASTNode,
  name: string,
  receiver: ASTNode | undefined,
  args: readonly ASTNode[],
  scope: Scope,
  all: (nodes: readonly ASTNode[], inner?: Scope) => Complaint | undefined,
  state: State,
): Complaint | undefined {
  // A method's position is that of its receiver, so the offset points at the name instead.
  const offset = receiver === undefined ? node.start : node.input.indexOf(name, receiver.end);
  if (Object.hasOwn(FACT_FUNCTIONS, name)) {
    if (!state.hasFacts) {
      return { message: `${name}() is a fact of the run, not of an entry; write it under preconditions`, offset };
    }
    state.reads.add(name);
    if (name === 'canary') {
      const [named] = args;
      // A name that is computed could not be compared with the configuration.
      if (named?.op !== 'value' || typeof named.args !== 'string') {
        return complain(named ?? node, 'the name in canary() must be a quoted literal');
      }
      state.canaries.push({ name: named.args, offset: named.pos });
    }
  } else if (!FUNCTIONS.has(name)) {
    return { message: WHY_NOT[name] ?? unknownFunction(name, state), offset };
  }
  if (name === 'has') return visitHas(node, args[0], state);
  if (name === 're' || name === 'glob') {
    const complaint = visitPattern(name, receiver, args, offset);
    if (complaint !== undefined) return complaint;
  }
  const walked = receiver === undefined ? undefined : all([receiver]);
  if (walked !== undefined || !COMPREHENSIONS.has(name)) return walked ?? all(args);
  const nesting = scope.nesting + 1;
  if (nesting > MAX_NESTING) return { message: `comprehensions nest at most ${MAX_NESTING} deep`, offset };
  if (args[0]?.op === 'id' && isVariable(args[0].args, state)) {
    return complain(args[0], `the name \`${args[0].args}\` is already in use; rename the element`);
  }
  return all(args.slice(1), { ...scope, nesting });
}

function visitHas(node: ASTNode, argument: ASTNode | undefined, state: State): Complaint | undefined {
  const read = argument === undefined ? undefined : fieldRead(argument, state);
  if (read === undefined) {
    const example = Object.hasOwn(state.variables, 'entry') ? 'has(entry.status)' : 'has(trigger.name)';
    return complain(node, `has() takes a field: ${example}`);
  }
  if (read.known === undefined) return complain(argument!, unknownField(read, state));
  state.reads.add(read.variable);
  return undefined;
}

/** Checks a pattern. It must be a literal, which is compiled with the expression; it never comes from an entry. */
function visitPattern(
  name: string,
  receiver: ASTNode | undefined,
  args: readonly ASTNode[],
  offset: number,
): Complaint | undefined {
  const [text, pattern] = args;
  if (receiver !== undefined || text === undefined || pattern === undefined) {
    return { message: `write ${name}(text, "pattern")`, offset };
  }
  if (pattern.op !== 'value' || typeof pattern.args !== 'string') {
    return complain(pattern, `the pattern of ${name}() must be a quoted literal`);
  }
  const fault = name === 're' ? patternFault(pattern.args) : undefined;
  return fault === undefined ? undefined : complain(pattern, fault);
}

/** Optional fields that are certainly present when `node` evaluates to `verdict`. */
function presentWhen(node: ASTNode, verdict: boolean, state: State): readonly string[] {
  if (node.op === '!_') return presentWhen(node.args, !verdict, state);
  if ((node.op === '&&' && verdict) || (node.op === '||' && !verdict)) {
    return node.args.flatMap((side) => presentWhen(side, verdict, state));
  }
  if (verdict && node.op === 'call' && node.args[0] === 'has' && node.args[1][0] !== undefined) {
    const read = fieldRead(node.args[1][0], state);
    return read === undefined ? [] : [`${read.variable}.${read.field}`];
  }
  return [];
}

interface FieldRead {
  readonly variable: string;
  readonly field: string;
  /** Undefined if the field does not exist. */
  readonly known: FactField | undefined;
}

/** Variable and field of a read: `entry` and `name` for `entry.name`. */
function fieldRead(node: ASTNode, state: State): FieldRead | undefined {
  if (node.op !== '.' && node.op !== '.?') return undefined;
  const [of, field] = node.args;
  if (of.op !== 'id' || !isVariable(of.args, state)) return undefined;
  const fields = state.variables[of.args]!;
  return { variable: of.args, field, known: Object.hasOwn(fields, field) ? fields[field] : undefined };
}

function isVariable(name: string, state: State): boolean {
  return Object.hasOwn(state.variables, name);
}

function unknownFunction(name: string, { hasFacts }: State): string {
  const known = [...(hasFacts ? Object.keys(FACT_FUNCTIONS) : []), ...FUNCTIONS];
  const near = known.find((other) => other.length > 3 && isNear(other.toLowerCase(), name.toLowerCase()));
  return `${name}() is not part of this language${near === undefined ? '' : `; did you mean ${near}()?`}`;
}

function unknownField({ variable, field }: FieldRead, state: State): string {
  const fields = Object.keys(state.variables[variable]!);
  const near = fields.find((known) => isNear(known.toLowerCase(), field.toLowerCase()));
  if (near !== undefined) return `${variable} has no field ${field}; did you mean ${near}?`;
  return `${variable} has no field ${field}; it has ${fields.join(', ')}`;
}

/**
 * True if the texts differ by one inserted, removed, changed or swapped character, or if one begins or ends with the
 * other.
 */
function isNear(a: string, b: string): boolean {
  if (a.endsWith(b) || b.endsWith(a) || a.startsWith(b) || b.startsWith(a)) return true;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < Math.min(a.length, b.length) - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  return Math.max(a.length, b.length) - start - end <= 2;
}

function complain(node: ASTNode, message: string): Complaint {
  return { message, offset: node.pos };
}
