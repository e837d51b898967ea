/**
 * Constant parts of expressions. They are evaluated at load: a part that fails would fail in every run. Days are a unit
 * of durations as in the rest of the configuration, although the expression language does not have them.
 */
import type { ASTNode } from '@marcbachmann/cel-js';
import { formatDuration, parseDuration } from '#foundation/domain/duration.ts';
import { FACT_FUNCTIONS } from './environments.ts';

/** Evaluates a text without variables. Throws if that fails. */
export type Evaluate = (text: string) => unknown;

/** Longest window of facts that have one: deliveries are kept for this long. */
const LONGEST_WINDOW_MS: Readonly<Record<string, number>> = { successRatio: 6 * 3_600_000, sampleSize: 6 * 3_600_000 };
const OPERATORS: ReadonlySet<string> = new Set('+ - * / % < <= > >= == != in -_ !_'.split(' '));
/** Functions without a constant result. */
const NOT_CONSTANT: ReadonlySet<string> = new Set(
  ['has exists all exists_one map filter re glob'.split(' '), Object.keys(FACT_FUNCTIONS)].flat(),
);

/** Returns the source from `start` to `end`, with days of duration literals as milliseconds. */
export function withoutDays(ast: ASTNode, { start, end }: Pick<ASTNode, 'start' | 'end'> = ast): string {
  const { input } = ast;
  let text = '';
  let at = start;
  for (const { node, ms } of durationsOf(ast)) {
    if (node.start < start || node.end > end) continue;
    text += `${input.slice(at, node.start)}"${ms}ms"`;
    at = node.end;
  }
  return text + input.slice(at, end);
}

function durationsOf(node: ASTNode): { readonly node: ASTNode; readonly ms: number }[] {
  const literal = node.op === 'call' && node.args[0] === 'duration' ? node.args[1][0] : undefined;
  const ms = literal?.op === 'value' && typeof literal.args === 'string' ? parseDuration(literal.args) : undefined;
  if (literal !== undefined && ms !== undefined) return [{ node: literal, ms }];
  return childrenOf(node).flatMap(durationsOf);
}

/** Returns why a part fails in every run, with the part at fault; undefined if it may succeed. */
export function constantFault(
  node: ASTNode,
  evaluate: Evaluate,
): { readonly node: ASTNode; readonly message: string } | undefined {
  const value = (part: ASTNode): unknown => evaluate(withoutDays(part));
  if (node.op === 'call' && Object.hasOwn(FACT_FUNCTIONS, node.args[0])) {
    const [, window] = node.args[1];
    if (window === undefined || !isConstant(window)) return undefined;
    const message = windowFault(node.args[0], value(window));
    return message === undefined ? undefined : { node: window, message };
  }
  if ((node.op === '%' || node.op === '/') && isConstant(node.args[1]) && value(node.args[1]) === 0n) {
    return { node: node.args[1], message: node.op === '%' ? 'modulo by zero' : 'division by zero' };
  }
  const zone = node.op === 'rcall' && node.args[0].startsWith('get') ? node.args[2][0] : undefined;
  if (zone !== undefined && isConstant(zone)) {
    try {
      evaluate(`timestamp("2026-01-01T00:00:00Z").getHours(${zone.input.slice(zone.start, zone.end)})`);
    } catch {
      return { node: zone, message: 'unknown time zone; write a name such as "Europe/Berlin", or "+01:00"' };
    }
  }
  if (!isComputed(node) || !isConstant(node)) return undefined;
  try {
    const result = value(node);
    return rollsOver(node, result) ? { node, message: 'this day does not exist' } : undefined;
  } catch (error) {
    return { node, message: faultOf(node, error) };
  }
}

function windowFault(name: string, window: unknown): string | undefined {
  const ms = Number((window as { valueOf(): unknown }).valueOf());
  const most = LONGEST_WINDOW_MS[name] ?? Infinity;
  if (ms <= 0) return `the window of ${name}() must be longer than 0`;
  return ms > most ? `the window of ${name}() must be at most ${formatDuration(most)}` : undefined;
}

/** A date such as 31 February becomes one of the next month. */
function rollsOver(node: ASTNode, result: unknown): boolean {
  const text = literalOf(node, 'timestamp');
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)/.exec(text ?? '') ?? [];
  if (year === undefined || !(result instanceof Date)) return false;
  return new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() !== Number(day);
}

function faultOf(node: ASTNode, error: unknown): string {
  const duration = literalOf(node, 'duration');
  if (duration !== undefined) {
    const example = /^\d+$/.test(duration) ? `${duration}s` : '90s';
    return `${JSON.stringify(duration)} is not a duration; write a number with a unit, such as duration("${example}")`;
  }
  const time = literalOf(node, 'timestamp');
  if (time !== undefined) {
    const example = /^\d{4}-\d\d-\d\d$/.test(time) ? `${time}T00:00:00Z` : '2026-03-02T00:00:00Z';
    return `${JSON.stringify(time)} is not a time; write timestamp("${example}")`;
  }
  const { summary } = error as { readonly summary?: string };
  return summary ?? (error instanceof Error ? error.message : String(error));
}

function literalOf(node: ASTNode, name: string): string | undefined {
  const [literal] = node.op === 'call' && node.args[0] === name ? node.args[1] : [];
  return literal?.op === 'value' && typeof literal.args === 'string' ? literal.args : undefined;
}

function isComputed({ op }: ASTNode): boolean {
  return op === 'call' || op === 'rcall' || OPERATORS.has(op);
}

function isConstant(node: ASTNode): boolean {
  if (node.op === 'value') return true;
  if ((node.op === 'call' || node.op === 'rcall') && NOT_CONSTANT.has(node.args[0])) return false;
  if (!isComputed(node) && node.op !== 'list') return false;
  const children = childrenOf(node);
  return (children.length > 0 || node.op === 'list') && children.every(isConstant);
}

export function childrenOf(node: ASTNode): readonly ASTNode[] {
  const isNode = (value: unknown): value is ASTNode => typeof value === 'object' && value !== null && 'op' in value;
  return [node.args].flat(3).filter(isNode);
}
