/**
 * Restrictions that the type checker does not enforce. Rejects expressions that never end, that escape the types, or
 * that fail on entries without a field.
 */
import type { ASTNode } from '@marcbachmann/cel-js';
import { suggestionOr } from '#foundation/domain/suggest.ts';
import type { FactField } from './entry-facts.ts';
import { FACT_FUNCTIONS, TRIGGER_FIELDS, type Fields } from './environments.ts';
import { childrenOf, constantFault, type Evaluate } from './expression-constants.ts';
import { patternFault } from './text-patterns.ts';

/** First violation of an expression. It ends the walk. */
class Complaint extends Error {
  /** 0-based offset into the source. */
  readonly offset: number;

  constructor(message: string, at: ASTNode | number) {
    super(message);
    this.offset = typeof at === 'number' ? at : at.pos;
  }
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
  /** Absent if the expression must not call facts. */
  readonly factsOf?: unknown;
}

/** Name of a canary in an expression. */
export interface NamedCanary {
  readonly name: string;
  /** 0-based offset into the source. */
  readonly offset: number;
}

export interface LintResult {
  /** First violation, with its 0-based offset into the source. */
  readonly complaint?: { readonly message: string; readonly offset: number };
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
export function lint(ast: ASTNode, readable: Readable, evaluate: Evaluate): LintResult {
  const walk = new Walk(readable, evaluate);
  const { reads, canaries } = walk;
  try {
    walk.visit(ast, { present: new Set(), nesting: 0 });
    return { reads, canaries };
  } catch (error) {
    if (!(error instanceof Complaint)) throw error;
    return { reads, canaries, complaint: { message: error.message, offset: error.offset } };
  }
}

class Walk {
  readonly reads = new Set<string>();
  readonly canaries: NamedCanary[] = [];
  readonly #variables: Readable['variables'];
  readonly #hasFacts: boolean;
  readonly #evaluate: Evaluate;

  constructor({ variables, factsOf }: Readable, evaluate: Evaluate) {
    this.#variables = { ...variables, trigger: TRIGGER_FIELDS };
    this.#hasFacts = factsOf !== undefined;
    this.#evaluate = evaluate;
  }

  /** @throws {Complaint} */
  visit(node: ASTNode, scope: Scope): void {
    this.#visitParts(node, scope);
    const fault = constantFault(node, this.#evaluate);
    if (fault !== undefined) throw new Complaint(fault.message, fault.node);
  }

  #visitAll(nodes: readonly ASTNode[], scope: Scope): void {
    for (const node of nodes) this.visit(node, scope);
  }

  #visitParts(node: ASTNode, scope: Scope): void {
    const after = (test: ASTNode, verdict: boolean): Scope => ({
      ...scope,
      present: new Set([...scope.present, ...this.#presentWhen(test, verdict)]),
    });
    if (node.op === '&&' || node.op === '||') {
      this.visit(node.args[0], scope);
      return this.visit(node.args[1], after(node.args[0], node.op === '&&'));
    }
    if (node.op === '?:') {
      const [test, yes, no] = node.args;
      this.visit(test, scope);
      this.visit(yes, after(test, true));
      return this.visit(no, after(test, false));
    }
    if (node.op === 'call') return this.#visitCall({ node, name: node.args[0], args: node.args[1] }, scope);
    if (node.op === 'rcall') {
      return this.#visitCall({ node, name: node.args[0], receiver: node.args[1], args: node.args[2] }, scope);
    }
    if (node.op === 'id' && this.#isVariable(node.args)) this.reads.add(node.args);
    if (node.op === '.' || node.op === '.?') this.#checkField(node, scope);
    if ((node.op === '[]' || node.op === '[?]') && node.args[0].op === 'id' && this.#isVariable(node.args[0].args)) {
      const variable = node.args[0].args;
      throw new Complaint(`write ${variable}.name: ${variable}[…] escapes the type check`, node);
    }
    if (node.op === '!=' || node.op === '==' || node.op === 'in') {
      this.#checkValues(node.args[0], node.args[1]);
      this.#checkValues(node.args[1], node.args[0]);
    }
    this.#visitAll(childrenOf(node), scope);
  }

  #checkField(node: ASTNode, { present }: Scope): void {
    const read = this.#fieldRead(node);
    if (read === undefined) return;
    if (read.known === undefined) throw new Complaint(this.#unknownField(read), node);
    if (read.known.optional && !present.has(read.path)) {
      throw new Complaint(`${read.path} may be missing: write has(${read.path}) && …`, node);
    }
  }

  /** Reports a literal that the field or fact can never equal. */
  #checkValues(read: ASTNode, other: ASTNode): void {
    const { what, values } = this.#choiceOf(read);
    if (values === undefined) return;
    const literals = (other.op === 'list' ? other.args : [other]).flatMap((node) =>
      node.op === 'value' && typeof node.args === 'string' ? [{ node, text: node.args }] : [],
    );
    const wrong = literals.find(({ text }) => !values.includes(text));
    if (wrong === undefined) return;
    const help = suggestionOr(`it is one of ${values.join(', ')}`, wrong.text, values);
    throw new Complaint(`${what} is never ${JSON.stringify(wrong.text)}; ${help}`, wrong.node);
  }

  /** Name and values of a field or fact; no values if it can be any text. */
  #choiceOf(node: ASTNode): { readonly what?: string; readonly values?: readonly string[] } {
    if (node.op === 'call' && isFact(node.args[0])) {
      return { what: `${node.args[0]}()`, values: FACT_FUNCTIONS[node.args[0]].values };
    }
    const read = this.#fieldRead(node);
    return { what: read?.path, values: read?.known?.values };
  }

  #visitCall({ node, name, receiver, args }: Call, scope: Scope): void {
    // A method's position is that of its receiver, so the offset points at the name instead.
    const offset = receiver === undefined ? node.start : node.input.indexOf(name, receiver.end);
    if (isFact(name)) this.#noteFact({ node, name, args }, offset);
    else if (!FUNCTIONS.has(name)) throw new Complaint(WHY_NOT[name] ?? this.#unknownFunction(name), offset);
    if (name === 'has') return this.#visitHas(node, args[0]);
    if (name === 're' || name === 'glob') checkPattern({ node, name, receiver, args }, offset);
    if (receiver !== undefined) this.visit(receiver, scope);
    if (!COMPREHENSIONS.has(name)) return this.#visitAll(args, scope);
    const nesting = scope.nesting + 1;
    if (nesting > MAX_NESTING) throw new Complaint(`comprehensions nest at most ${MAX_NESTING} deep`, offset);
    if (args[0]?.op === 'id' && this.#isVariable(args[0].args)) {
      throw new Complaint(`the name \`${args[0].args}\` is already in use; rename the element`, args[0]);
    }
    return this.#visitAll(args.slice(1), { ...scope, nesting });
  }

  #noteFact({ node, name, args: [named] }: Call, offset: number): void {
    if (!this.#hasFacts) {
      throw new Complaint(`${name}() is a fact of the run, not of an entry; write it under preconditions`, offset);
    }
    this.reads.add(name);
    if (name !== 'canary') return;
    // A name that is computed could not be compared with the configuration.
    if (named?.op !== 'value' || typeof named.args !== 'string') {
      throw new Complaint('the name in canary() must be a quoted literal', named ?? node);
    }
    this.canaries.push({ name: named.args, offset: named.pos });
  }

  #visitHas(node: ASTNode, argument: ASTNode | undefined): void {
    const read = argument && this.#fieldRead(argument);
    if (read === undefined) {
      const example = Object.hasOwn(this.#variables, 'entry') ? 'has(entry.status)' : 'has(trigger.name)';
      throw new Complaint(`has() takes a field: ${example}`, node);
    }
    if (read.known === undefined) throw new Complaint(this.#unknownField(read), argument!);
    this.reads.add(read.variable);
  }

  /** Optional fields that are certainly present when `node` evaluates to `verdict`. */
  #presentWhen(node: ASTNode, verdict: boolean): readonly string[] {
    if (node.op === '!_') return this.#presentWhen(node.args, !verdict);
    if ((node.op === '&&' && verdict) || (node.op === '||' && !verdict)) {
      return node.args.flatMap((side) => this.#presentWhen(side, verdict));
    }
    const [argument] = verdict && node.op === 'call' && node.args[0] === 'has' ? node.args[1] : [];
    const path = argument && this.#fieldRead(argument)?.path;
    return path === undefined ? [] : [path];
  }

  /** Variable and field of a read: `entry` and `name` for `entry.name`. */
  #fieldRead(node: ASTNode): FieldRead | undefined {
    if (node.op !== '.' && node.op !== '.?') return undefined;
    const [of, field] = node.args;
    if (of.op !== 'id' || !this.#isVariable(of.args)) return undefined;
    const fields = this.#variables[of.args]!;
    const known = Object.hasOwn(fields, field) ? fields[field] : undefined;
    return { variable: of.args, field, path: `${of.args}.${field}`, known };
  }

  #isVariable(name: string): boolean {
    return Object.hasOwn(this.#variables, name);
  }

  #unknownFunction(name: string): string {
    const known = [...(this.#hasFacts ? Object.keys(FACT_FUNCTIONS) : []), ...FUNCTIONS];
    const near = known.find((other) => other.length > 3 && isNear(other.toLowerCase(), name.toLowerCase()));
    return `${name}() is not part of this language${near === undefined ? '' : `; did you mean ${near}()?`}`;
  }

  #unknownField({ variable, field }: FieldRead): string {
    const fields = Object.keys(this.#variables[variable]!);
    const near = fields.find((known) => isNear(known.toLowerCase(), field.toLowerCase()));
    if (near !== undefined) return `${variable} has no field ${field}; did you mean ${near}?`;
    return `${variable} has no field ${field}; it has ${fields.join(', ')}`;
  }
}

/** Call of a function or method. */
interface Call {
  readonly node: ASTNode;
  readonly name: string;
  readonly receiver?: ASTNode;
  readonly args: readonly ASTNode[];
}

/** Checks a pattern. It must be a literal, which is compiled with the expression; it never comes from an entry. */
function checkPattern({ name, receiver, args: [text, pattern] }: Call, offset: number): void {
  if (receiver !== undefined || text === undefined || pattern === undefined) {
    throw new Complaint(`write ${name}(text, "pattern")`, offset);
  }
  if (pattern.op !== 'value' || typeof pattern.args !== 'string') {
    throw new Complaint(`the pattern of ${name}() must be a quoted literal`, pattern);
  }
  const fault = name === 're' ? patternFault(pattern.args) : undefined;
  if (fault !== undefined) throw new Complaint(fault, pattern);
}

interface FieldRead {
  readonly variable: string;
  readonly field: string;
  /** `entry.status` */
  readonly path: string;
  /** Undefined if the field does not exist. */
  readonly known: FactField | undefined;
}

function isFact(name: string): name is keyof typeof FACT_FUNCTIONS {
  return Object.hasOwn(FACT_FUNCTIONS, name);
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
