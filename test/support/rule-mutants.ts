/** Rules with something left out: a clause, a comparison, the wait, what keeps them firing. A case must notification each. */
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

function expressionMutants(expr: string): { readonly what: string; readonly expr: string }[] {
  const mutants: { what: string; expr: string }[] = [];
  const text = (node: SyntaxNode): string => expr.slice(node.from, node.to);
  parser.parse(expr).iterate({
    enter: ({ node }) => {
      if (node.name !== 'BinaryExpr') return;
      const left = node.firstChild!;
      const right = node.lastChild!;
      const operator = left.nextSibling!.name;
      const keep = (kept: SyntaxNode, what: string): void => {
        mutants.push({ what, expr: expr.slice(0, node.from) + text(kept) + expr.slice(node.to) });
      };
      if (operator === 'And' || operator === 'Unless') {
        keep(left, `${operator.toLowerCase()} ${text(right)}`);
        if (operator === 'And') keep(right, `${text(left)} and`);
      }
      if (operator === 'Or') {
        keep(left, `or ${text(right)}`);
        keep(right, `${text(left)} or`);
      }
      if (COMPARISONS.includes(operator))
        keep(
          left,
          text(node)
            .slice(left.to - node.from)
            .trim(),
        );
    },
  });
  return mutants;
}
