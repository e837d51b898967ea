/**
 * Retry-delay expressions (interface 4.1.1): arithmetic over `retried` with nine functions, in milliseconds. A
 * recursive descent parser reads the short text. No part of it is ever passed to the JavaScript engine.
 */

const LONGEST = 512;
const DEEPEST = 64;

type Evaluate = (retried: number) => number;

const FUNCTIONS: Readonly<Record<string, { readonly arity: number; readonly apply: (...values: number[]) => number }>> =
  {
    pow: { arity: 2, apply: Math.pow },
    exp: { arity: 1, apply: Math.exp },
    sqrt: { arity: 1, apply: Math.sqrt },
    abs: { arity: 1, apply: Math.abs },
    floor: { arity: 1, apply: Math.floor },
    ceil: { arity: 1, apply: Math.ceil },
    round: { arity: 1, apply: Math.round },
    min: { arity: 2, apply: Math.min },
    max: { arity: 2, apply: Math.max },
  };

/** An invalid expression, with the place of the error. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
}

/** @throws {ExpressionError} with the reason and the column */
export function compileRetryDelay(source: string): Evaluate {
  if (source.length > LONGEST) throw new ExpressionError(`is longer than ${LONGEST} characters`);
  const parser = new Parser(source);
  const evaluate = parser.sum();
  parser.expectEnd();
  if (Number.isNaN(evaluate(0))) throw new ExpressionError('is not a number when retried is 0');
  return evaluate;
}

class Parser {
  readonly #source: string;
  #at = 0;
  #depth = 0;

  constructor(source: string) {
    this.#source = source;
  }

  sum(): Evaluate {
    if (++this.#depth > DEEPEST) throw this.#wrong('is nested too deeply');
    let left = this.#product();
    for (let operator = this.#take('+-'); operator !== undefined; operator = this.#take('+-')) {
      const [a, b] = [left, this.#product()];
      left = operator === '+' ? (retried) => a(retried) + b(retried) : (retried) => a(retried) - b(retried);
    }
    this.#depth--;
    return left;
  }

  expectEnd(): void {
    this.#skipSpace();
    if (this.#at < this.#source.length) throw this.#wrong(`did not expect ${this.#source[this.#at]}`);
  }

  #product(): Evaluate {
    let left = this.#factor();
    for (let operator = this.#take('*/%'); operator !== undefined; operator = this.#take('*/%')) {
      const [a, b] = [left, this.#factor()];
      if (operator === '*') left = (retried) => a(retried) * b(retried);
      else if (operator === '/') left = (retried) => a(retried) / b(retried);
      else left = (retried) => a(retried) % b(retried);
    }
    return left;
  }

  #factor(): Evaluate {
    const sign = this.#take('+-');
    if (sign !== undefined) {
      if (++this.#depth > DEEPEST) throw this.#wrong('is nested too deeply');
      const operand = this.#factor();
      this.#depth--;
      return sign === '-' ? (retried) => -operand(retried) : operand;
    }
    if (this.#take('(') !== undefined) {
      const inner = this.sum();
      this.#expect(')');
      return inner;
    }
    const number = this.#match(/(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y);
    if (number !== undefined) {
      const value = Number(number);
      return () => value;
    }
    const at = this.#at;
    const name = this.#match(/[A-Za-z_]\w*/y);
    if (name === undefined) {
      const found = this.#source[this.#at];
      throw this.#wrong(found === undefined ? 'ends too early' : `did not expect ${found}`);
    }
    return name === 'retried' ? (retried) => retried : this.#call(name, at);
  }

  #call(name: string, at: number): Evaluate {
    const known = Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : undefined;
    if (known === undefined) {
      throw this.#wrong(`does not know ${name} (retried and the functions ${Object.keys(FUNCTIONS).join(', ')})`, at);
    }
    this.#expect('(');
    const values: Evaluate[] = [this.sum()];
    while (this.#take(',') !== undefined) values.push(this.sum());
    this.#expect(')');
    if (values.length !== known.arity) {
      throw this.#wrong(`${name} takes ${known.arity} value${known.arity === 1 ? '' : 's'}, not ${values.length}`, at);
    }
    return (retried) => known.apply(...values.map((value) => value(retried)));
  }

  #skipSpace(): void {
    this.#match(/\s*/y);
  }

  #take(characters: string): string | undefined {
    this.#match(/\s*/y);
    const next = this.#source[this.#at];
    if (next === undefined || !characters.includes(next)) return undefined;
    this.#at++;
    return next;
  }

  #expect(character: string): void {
    if (this.#take(character) === undefined) throw this.#wrong(`expected ${character}`);
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const text = pattern.exec(this.#source)?.[0];
    if (text !== undefined) this.#at += text.length;
    return text;
  }

  #wrong(what: string, at = this.#at): ExpressionError {
    return new ExpressionError(`${what} (at character ${at + 1})`);
  }
}
