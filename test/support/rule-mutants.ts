/** Rules with something left out: a clause, a comparison, the wait, what keeps them firing. A case must notice each. */
import { parser } from '@prometheus-io/lezer-promql';
import type { SyntaxNode } from '@lezer/common';
import type { AlertingRule } from '../../deploy/prometheus/rule.ts';

export interface Mutant {
  /** The removed part. */
  readonly what: string;
  readonly rule: AlertingRule;
}

const COMPARISONS = ['Gtr', 'Lss', 'Gte', 'Lte', 'Eql', 'EqlC', 'Neq'];

export function mutantsOf(rule: AlertingRule): Mutant[] {
  const { for: wait, keepFiringFor, ...rest } = rule;
  return [
    ...expressionMutants(rule.expr).map(({ what, expr }) => ({ what, rule: { ...rule, expr } })),
    ...(wait === undefined ? [] : [{ what: 'for', rule: { ...rest, ...(keepFiringFor && { keepFiringFor }) } }]),
    ...(keepFiringFor === undefined
      ? []
      : [{ what: 'keep_firing_for', rule: { ...rest, ...(wait && { for: wait }) } }]),
  ];
}

/**
 * Parts of the templates `latest`, `owned` and `counted` of deploy/prometheus, which rules repeat. Each has one mutant,
 * which changes all rules. In a single rule they have none.
 */
const TEMPLATE_PARTS = {
  'the replicas that are no longer the owner': { of: 'owned', keeps: 'left' },
  'the last value': { of: 'latest', keeps: 'left' },
  'the present value': { of: 'latest', keeps: 'right' },
  'the series of the owners': { of: 'counted', keeps: 'right' },
  'the series of a daemon without replicas': { of: 'counted', keeps: 'left' },
} as const;

export type TemplatePart = keyof typeof TEMPLATE_PARTS;
export const TEMPLATE_MUTANTS = Object.keys(TEMPLATE_PARTS) as readonly TemplatePart[];

interface Binary {
  readonly operator: string;
  readonly left: string;
  readonly right: string;
}

/** Returns the template that the operator is from. */
function templateOf({ operator, left, right }: Binary): 'owned' | 'latest' | 'counted' | undefined {
  if (operator === 'Unless') return /\bjob_instance_account:opsd_lease_owner:other\b/.test(right) ? 'owned' : undefined;
  if (operator !== 'Or') return undefined;
  if (/^(?:sum|max) by \([^)]*\) \((?:sum without \([^)]*\) \()?\w+\(\w+:\w+:owner\b/.test(left)) return 'counted';
  const last = /^(?:max|min|sum) by \([^)]*\) \(last_over_time\((\w+)/.exec(right)?.[1];
  return last !== undefined && left.includes(last) ? 'latest' : undefined;
}

/** Returns the expression without a part of a template, everywhere. */
export function withoutTemplatePart(expr: string, part: TemplatePart): string {
  const { of, keeps } = TEMPLATE_PARTS[part];
  const found = binaries(expr).find((one) => templateOf(one) === of);
  if (found === undefined) return expr;
  // An offset belongs to the right operand. This parser takes it for one of the whole expression.
  const rest = keeps === 'left' ? expr.slice(found.to).replace(/^ offset \w+/, '') : expr.slice(found.to);
  return withoutTemplatePart(expr.slice(0, found.from) + found[keeps] + rest, part);
}

function binaries(expr: string): readonly (Binary & { readonly from: number; readonly to: number })[] {
  const found: (Binary & { readonly from: number; readonly to: number })[] = [];
  const text = (node: SyntaxNode): string => expr.slice(node.from, node.to);
  parser.parse(expr).iterate({
    enter: ({ node }) => {
      if (node.name !== 'BinaryExpr') return;
      const [left, right] = [node.firstChild!, node.lastChild!];
      const operator = left.nextSibling!.name;
      found.push({ operator, left: text(left), right: text(right), from: node.from, to: node.to });
    },
  });
  return found;
}

/** Returns the expression without one operand of an operator, or without a comparison. */
export function expressionMutants(expr: string): { readonly what: string; readonly expr: string }[] {
  return binaries(expr).flatMap((binary) => {
    const { operator, left, right, from, to } = binary;
    const keep = (kept: string, what: string) => ({ what, expr: expr.slice(0, from) + kept + expr.slice(to) });
    if (templateOf(binary) !== undefined) return [];
    if (operator === 'Unless') return [keep(left, `unless ${right}`)];
    if (operator === 'And') return [keep(left, `and ${right}`), keep(right, `${left} and`)];
    if (operator === 'Or') return [keep(left, `or ${right}`), keep(right, `${left} or`)];
    if (!COMPARISONS.includes(operator)) return [];
    return [keep(left, expr.slice(from + left.length, to).trim())];
  });
}
