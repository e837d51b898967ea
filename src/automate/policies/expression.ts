/**
 * Expressions of policies: CEL behind an interface of this project. Compilation finds every fault that the source
 * shows. The other faults are entries on which the expression fails, and those never match.
 */
import { Duration, Environment } from '@marcbachmann/cel-js/evaluator';
import { matchesGlob } from '#foundation/domain/glob.ts';
import type { Trigger } from '#foundation/domain/plan.ts';
import { FACT_FUNCTIONS, TRIGGER_FIELDS, type ExpressionEnvironment, type Fields } from './environments.ts';
import type { FieldValue } from './entry-facts.ts';
import { withoutDays } from './expression-constants.ts';
import { lint, type NamedCanary } from './expression-lint.ts';
import type { PreconditionFacts } from './facts.ts';
import type { Where } from './policy.ts';
import { findsPattern } from './text-patterns.ts';

export interface CompiledExpression<Facts> extends Where<Facts> {
  readonly ok: true;
  /** Canaries that the expression names. */
  readonly canaries: readonly NamedCanary[];
}

export interface RefusedExpression {
  readonly ok: false;
  readonly message: string;
  /** 0-based offset into the source. */
  readonly offset: number;
}

/** Longer texts are truncated: other parties write an entry's fields. */
const MAX_TEXT = 65_536;
/** An entry with more labels is an error: a truncated list would give `!labels.exists(…)` a wrong result. */
const MAX_LABELS = 256;

/** Compiles an expression, or returns the error and its place. */
export function compileExpression<Facts>(
  source: string,
  environment: ExpressionEnvironment<Facts>,
): CompiledExpression<Facts> | RefusedExpression {
  const language = languages.get(environment.name) ?? makeLanguage(environment);
  languages.set(environment.name, language);
  let parsed: ReturnType<Language['environment']['parse']>;
  try {
    parsed = language.environment.parse(source);
  } catch (error) {
    return hintOf(error, source) ?? refused(error, environment.name);
  }
  // The lint runs first, since its messages say more than the type checker's.
  const { complaint, reads, canaries } = lint(parsed.ast, environment, (text) => language.environment.parse(text)({}));
  if (complaint !== undefined) return { ok: false, ...complaint };
  const checked = parsed.check();
  if (!checked.valid) return refused(checked.error, environment.name);
  if (checked.type !== 'bool') {
    return { ok: false, message: `the result must be bool, not ${checked.type}`, offset: 0 };
  }
  const needed = Object.keys(environment.variables);
  if (needed.length > 0 && !needed.some((name) => reads.has(name))) {
    const names = needed.map((name) => `\`${name}\``).join(' or ');
    return { ok: false, message: `reads nothing of ${names}: it would match everything or nothing`, offset: 0 };
  }
  if (reads.size === 0) {
    return { ok: false, message: 'calls no fact: it would always be true or always be false', offset: 0 };
  }
  const program = language.environment.parse(withoutDays(parsed.ast, { start: 0, end: source.length }));
  return {
    ok: true,
    source,
    canaries,
    evaluate(facts, trigger) {
      try {
        const values = language.values(facts, trigger);
        const result = language.asking(environment.factsOf?.(facts), () => program(values) as unknown);
        if (typeof result !== 'boolean') return 'error';
        return result ? 'match' : 'no';
      } catch {
        return 'error';
      }
    },
  };
}

interface Language {
  readonly environment: Environment;
  /** Variables in the types of the expression language. @throws {RangeError} if a list has too many values */
  values(facts: unknown, trigger: Trigger | undefined): Record<string, unknown>;
  /** Runs `run` with `facts` as the source of the fact functions. */
  asking<T>(facts: PreconditionFacts | undefined, run: () => T): T;
}

const languages = new Map<string, Language>();

function makeLanguage<Facts>(source: ExpressionEnvironment<Facts>): Language {
  const environment = new Environment({ limits: { maxAstNodes: 300, maxDepth: 50 } });
  const register = <T>(name: string, fields: Fields, read: (facts: T, field: string) => FieldValue) => {
    const type = `${name[0]!.toUpperCase()}${name.slice(1)}`;
    const ctor = variableOf(fields, read);
    const types = Object.entries(fields).map(([field, { type: of }]) => [field, of]);
    environment.registerType(type, { ctor, fields: Object.fromEntries(types) }).registerVariable(name, type);
    return ctor;
  };
  const classes = Object.entries(source.variables).map(
    ([name, fields]) =>
      [name, register<Facts>(name, fields, (facts, field) => source.valueOf(facts, name, field))] as const,
  );
  const TriggerVariable = register('trigger', TRIGGER_FIELDS, triggerField);
  environment.registerFunction('re(string, string): bool', (text: string, pattern: string) =>
    findsPattern(pattern, text),
  );
  environment.registerFunction('glob(string, string): bool', (text: string, pattern: string) =>
    matchesGlob(pattern, text),
  );
  // An evaluation is synchronous, so no other evaluation can replace this value.
  let asked: PreconditionFacts | undefined;
  for (const [name, { signature }] of source.factsOf !== undefined ? Object.entries(FACT_FUNCTIONS) : []) {
    environment.registerFunction(signature, (first?: string, window?: Duration) => {
      const answer = asked?.[name as keyof PreconditionFacts](first ?? '', window?.valueOf() ?? 0);
      if (answer === undefined || Number.isNaN(answer)) throw new Error(`${name} is unknown`);
      return signature.endsWith(': int') ? BigInt(Math.trunc(Number(answer))) : answer;
    });
  }
  return {
    environment,
    values(facts, trigger) {
      const values: Record<string, unknown> = {};
      for (const [name, Variable] of classes) values[name] = new Variable(facts as Facts);
      if (trigger !== undefined) values['trigger'] = new TriggerVariable(trigger);
      return values;
    },
    asking(facts, run) {
      const before = asked;
      asked = facts;
      try {
        return run();
      } finally {
        asked = before;
      }
    },
  };
}

function triggerField(trigger: Trigger, field: string): FieldValue {
  if (field === 'kind') return trigger.kind;
  return trigger.kind === 'alert' ? trigger.name : undefined;
}

/**
 * Returns the class of one variable: the type checker distinguishes variables by their class. A field is converted when
 * the expression reads it, because there are many entries, and most fields are not read.
 */
function variableOf<T>(fields: Fields, read: (facts: T, field: string) => FieldValue): new (facts: T) => object {
  const lists = Object.keys(fields).filter((name) => fields[name]!.type.startsWith('list<'));
  return class Variable {
    readonly #facts: T;

    static {
      for (const [name, { type }] of Object.entries(fields)) {
        const get = function (this: Variable) {
          return languageValue(read(this.#facts, name), type);
        };
        Object.defineProperty(this.prototype, name, { get });
      }
    }

    constructor(facts: T) {
      this.#facts = facts;
      // A list that is too long is an error even if the expression does not read it.
      for (const name of lists) languageValue(read(facts, name), '');
    }
  };
}

/** Converts a value: integers become bigint, times Date, durations a class of the library. */
function languageValue(value: FieldValue, type: string): unknown {
  if (value === undefined || typeof value === 'boolean') return value;
  if (typeof value === 'string') return value.slice(0, MAX_TEXT);
  if (typeof value === 'object') {
    if (value.length > MAX_LABELS) throw new RangeError(`more than ${MAX_LABELS} values`);
    return value.some(({ length }) => length > MAX_TEXT) ? value.map((text) => text.slice(0, MAX_TEXT)) : value;
  }
  if (type === 'google.protobuf.Duration') return Duration.fromMilliseconds(value);
  if (type === 'google.protobuf.Timestamp') return new Date(value);
  return type === 'int' ? BigInt(Math.trunc(value)) : value;
}

/** Errors for a variable that this kind of expression does not have. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  entry: '`entry` does not exist here; only `where` of a policy over entries has it',
  spend: '`spend` does not exist here; only `where` of budget.raise has it',
  budget: '`budget` does not exist here; only `where` of budget.raise has it',
};

/** Explains frequent mistakes. The parser reports only a character for them. */
function hintOf(error: unknown, source: string): RefusedExpression | undefined {
  const offset = (error as { readonly range?: { readonly start: number } }).range?.start;
  if (offset === undefined) return undefined;
  if (source[offset] === '=') return { ok: false, message: '= does not compare; write ==', offset };
  const word = /^(?:and|or)\b/i.exec(source.slice(offset))?.[0];
  if (word !== undefined) return { ok: false, message: `write ${word.toLowerCase() === 'and' ? '&&' : '||'}`, offset };
  const not = /\bnot\s+$/i.exec(source.slice(0, offset));
  if (not !== null) return { ok: false, message: 'write ! instead of not', offset: not.index };
  const unit = /^(?:ms|s|m|h|d)\b/.exec(source.slice(offset))?.[0];
  const number = /(?:^|[^\w.])(\d+(?:\.\d+)?)$/.exec(source.slice(0, offset))?.[1];
  if (unit === undefined || number === undefined) return undefined;
  // The expression language has no unit for days.
  const length = unit === 'd' ? `${Number(number) * 24}h` : `${number}${unit}`;
  const message = `a duration is written as a call; write duration("${length}")`;
  return { ok: false, message, offset: offset - number.length };
}

function refused(error: unknown, environment: ExpressionEnvironment<never>['name']): RefusedExpression {
  const known = error as {
    readonly summary?: string;
    readonly range?: { readonly start: number };
  };
  const offset = known.range?.start ?? 0;
  const message = known.summary ?? (error instanceof Error ? error.message : String(error));
  const unknown = /^Unknown variable: (\w+)$/i.exec(message)?.[1];
  if (unknown !== undefined) {
    const isFact = Object.hasOwn(FACT_FUNCTIONS, unknown);
    const words =
      isFact && environment === 'precondition' ? `${unknown} is a function; write ${unknown}(…)` : undefined;
    return { ok: false, message: words ?? ELSEWHERE[unknown] ?? `unknown variable: ${unknown}`, offset };
  }
  return { ok: false, message: message.replaceAll('google.protobuf.', '').replace(/^\w/, lower), offset };
}

function lower(letter: string): string {
  return letter.toLowerCase();
}
