/**
 * Parsed PromQL for tests: its selections, windows, and the labels of its result. The grammar is that of Prometheus'
 * own editor. Types of values are not checked: promtool and Prometheus do that.
 */
import { parser } from '@prometheus-io/lezer-promql';
import type { SyntaxNode } from '@lezer/common';

interface Matcher {
  readonly label: string;
  readonly op: string;
  readonly value: string;
}

interface Selector {
  readonly metric: string;
  readonly matchers: readonly Matcher[];
  /** Window as written: `5m`, `$__rate_interval`; absent for an instant vector. */
  readonly window?: string;
  /** Function around it, such as `rate`; empty without one. */
  readonly call: string;
}

export interface PromqlReading {
  /** Syntax errors, and labels in groupings or matches that do not exist. */
  readonly problems: readonly string[];
  readonly selectors: readonly Selector[];
  /** Labels that series of the result may have. */
  readonly labels: ReadonlySet<string>;
  /** Names of functions, aggregations and operators in it, as in the grammar: `Rate`, `Sum`, `Div`. */
  readonly words: ReadonlySet<string>;
}

/** Returns the labels of a series, `job` and `instance` included; undefined for an unknown series. */
export type LabelsOfSeries = (metric: string) => readonly string[] | undefined;

/** Placeholder durations for Grafana's variables, with values that no query contains. */
const DURATIONS = {
  $__interval_ms: '439001',
  $__rate_interval: '7m13s',
  $__range: '7m17s',
  $__interval: '7m19s',
} as const;

/** Operators that keep the series of their left side, or of both. */
const SET_OPERATORS = ['And', 'Or', 'Unless'];

export function readPromql(text: string, labelsOfSeries: LabelsOfSeries): PromqlReading {
  const source = Object.entries(DURATIONS).reduce((sofar, [name, duration]) => sofar.replaceAll(name, duration), text);
  const reader = new Reader(source, labelsOfSeries);
  const tree = parser.parse(source);
  const words = new Set<string>();
  tree.iterate({
    enter: (node) => {
      words.add(node.name);
      if (node.type.isError) reader.problems.push(`does not parse at ${node.from + 1}: ${text}`);
    },
  });
  const top = tree.topNode.firstChild;
  const labels = top === null ? new Set<string>() : reader.labels(top);
  return { problems: [...new Set(reader.problems)], selectors: reader.selectors, labels, words };
}

class Reader {
  readonly problems: string[] = [];
  readonly selectors: Selector[] = [];
  readonly #source: string;
  readonly #labelsOfSeries: LabelsOfSeries;

  constructor(source: string, labelsOfSeries: LabelsOfSeries) {
    this.#source = source;
    this.#labelsOfSeries = labelsOfSeries;
  }

  /** Returns the labels of an expression's result, and records its selectors. */
  labels(node: SyntaxNode, call = '', window?: string): Set<string> {
    switch (node.name) {
      case 'VectorSelector':
        return this.#selector(node, call, window);
      case 'MatrixSelector':
      case 'SubqueryExpr':
        return this.labels(node.firstChild!, call, this.#window(node));
      case 'AggregateExpr':
        return this.#aggregate(node);
      case 'FunctionCall':
        return this.#call(node);
      case 'BinaryExpr':
        return this.#binary(node);
      case 'NumberDurationLiteral':
      case 'StringLiteral':
        return new Set();
      default:
        // Parentheses, signs and offsets keep the series of their content.
        return union(childrenOf(node).map((child) => this.labels(child, call, window)));
    }
  }

  #selector(node: SyntaxNode, call: string, window?: string): Set<string> {
    const matchers: Matcher[] = [];
    node
      .getChild('LabelMatchers')
      ?.cursor()
      .iterate((at) => {
        if (at.name !== 'UnquotedLabelMatcher' && at.name !== 'QuotedLabelMatcher') return;
        const [label, op, value] = childrenOf(at.node).map((child) => this.#text(child));
        matchers.push({ label: unquoted(label ?? ''), op: op ?? '', value: unquoted(value ?? '') });
      });
    const name = node.getChild('Identifier');
    const metric = name === null ? (matchers.find(({ label }) => label === '__name__')?.value ?? '') : this.#text(name);
    this.selectors.push({ metric, matchers, call, ...(window === undefined ? {} : { window }) });
    const labels = this.#labelsOfSeries(metric);
    if (labels === undefined) this.problems.push(`no such series: ${metric}`);
    for (const { label } of matchers) {
      if (labels?.includes(label) === false && label !== '__name__') this.problems.push(`${metric} has no ${label}`);
    }
    return new Set(labels);
  }

  #aggregate(node: SyntaxNode): Set<string> {
    const inner = this.#arguments(node, '');
    const modifier = node.getChild('AggregateModifier');
    const grouping = this.#grouping(modifier);
    for (const label of grouping) {
      if (!inner.has(label)) this.problems.push(`grouped by ${label}, which is not there: ${this.#text(node)}`);
    }
    const operator = node.getChild('AggregateOp')?.firstChild?.name ?? '';
    if (modifier === null) return ['Topk', 'Bottomk'].includes(operator) ? inner : new Set();
    if (modifier.getChild('Without') !== null) return inner.difference(new Set(grouping));
    return ['Topk', 'Bottomk'].includes(operator) ? inner : new Set(grouping);
  }

  #call(node: SyntaxNode): Set<string> {
    const name = this.#text(node.getChild('FunctionIdentifier')!);
    const labels = this.#arguments(node, name);
    if (name === 'label_replace' || name === 'label_join') {
      const body = node.getChild('FunctionCallBody')!;
      const target = childrenOf(body).find((child) => child.name === 'StringLiteral');
      if (target !== undefined) labels.add(unquoted(this.#text(target)));
    }
    if (name === 'histogram_quantile') labels.delete('le');
    if (name === 'vector' || name === 'scalar') return new Set();
    return labels;
  }

  #binary(node: SyntaxNode): Set<string> {
    const left = this.labels(node.firstChild!);
    const right = this.labels(node.lastChild!);
    const operator = childrenOf(node)[1]?.name ?? '';
    const clauses = [...node.getChildren('MatchingModifierClause'), ...node.getChildren('BoolModifier')];
    const clause = clauses.find((each) => each.getChild('On') !== null || each.getChild('Ignoring') !== null) ?? null;
    const [matched = [], taken = []] = clause?.getChildren('GroupingLabels').map((each) => this.#names(each)) ?? [];
    for (const label of [...matched, ...taken]) {
      if (!left.has(label) && !right.has(label)) {
        this.problems.push(`matched on ${label}, which is not there: ${this.#text(node)}`);
      }
    }
    if (operator === 'Or') return left.union(right);
    if (SET_OPERATORS.includes(operator)) return left;
    if (clause?.getChild('GroupLeft')) return left.union(new Set(taken));
    if (clause?.getChild('GroupRight')) return right.union(new Set(taken));
    const compares = ['Gtr', 'Lss', 'Gte', 'Lte', 'Eql', 'EqlC', 'EqlSingle', 'Neq'].includes(operator);
    if (clause?.getChild('On') && !compares) return new Set(matched);
    if (clause?.getChild('Ignoring') && !compares) return left.difference(new Set(matched));
    // A number has no labels, so those of the other side stay.
    return left.size === 0 ? right : left;
  }

  #arguments(node: SyntaxNode, call: string): Set<string> {
    return union(childrenOf(node.getChild('FunctionCallBody')).map((child) => this.labels(child, call)));
  }

  #grouping(modifier: SyntaxNode | null): string[] {
    return this.#names(modifier?.getChild('GroupingLabels') ?? null);
  }

  #names(node: SyntaxNode | null): string[] {
    return childrenOf(node).map((child) => unquoted(this.#text(child)));
  }

  /** Returns `5m` for `x[5m]` and `x[5m:1m]`. */
  #window(node: SyntaxNode): string {
    const written = this.#text(childrenOf(node)[1]!);
    const variable = Object.entries(DURATIONS).find(([, duration]) => duration === written);
    return variable?.[0] ?? written;
  }

  #text(node: SyntaxNode): string {
    return this.#source.slice(node.from, node.to);
  }
}

function childrenOf(node: SyntaxNode | null): SyntaxNode[] {
  const children: SyntaxNode[] = [];
  for (let child = node?.firstChild ?? null; child !== null; child = child.nextSibling) children.push(child);
  return children;
}

function union(sets: readonly Set<string>[]): Set<string> {
  return sets.reduce((sofar, set) => sofar.union(set), new Set<string>());
}

function unquoted(text: string): string {
  return /^["'`]/.test(text) ? text.slice(1, -1) : text;
}
