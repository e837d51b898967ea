/** Rules of faults: how often each applies, and how often it has. */
import type { Random } from '#foundation/platform/random.ts';
import type { ActiveFault, FaultFrequency } from '../types/public.ts';

interface Active<Rule> {
  readonly id: string;
  readonly rule: Rule;
  met: number;
  hits: number;
}

const NONE: readonly never[] = [];

export class FaultRules<Rule extends FaultFrequency> {
  readonly #name: string;
  readonly #random: Random;
  #active: Active<Rule>[] = [];
  #made = 0;

  /** @param name first part of the rules' ids */
  constructor(name: string, random: Random) {
    this.#name = name;
    this.#random = random;
  }

  add(rule: Rule): Rule & ActiveFault {
    const active = { id: `${this.#name}-${++this.#made}`, rule, met: 0, hits: 0 };
    this.#active.push(active);
    return viewOf(active);
  }

  list(): readonly (Rule & ActiveFault)[] {
    return this.#active.map(viewOf);
  }

  /** Returns false when no such rule exists. */
  remove(id: string): boolean {
    const before = this.#active.length;
    this.#active = this.#active.filter((active) => active.id !== id);
    return this.#active.length < before;
  }

  clear(): void {
    this.#active = [];
  }

  /** Returns the rules that apply to a case, in the order of their creation, and counts it. */
  take(matches: (rule: Rule) => boolean): readonly Rule[] {
    if (this.#active.length === 0) return NONE;
    return this.#active.filter((active) => matches(active.rule) && this.#applies(active)).map(({ rule }) => rule);
  }

  #applies(active: Active<Rule>): boolean {
    const { skip = 0, times = Infinity, probability = 1 } = active.rule;
    if (active.met++ < skip || active.hits >= times || this.#random() >= probability) return false;
    active.hits++;
    return true;
  }
}

/** Matches a text with a pattern. A trailing `*` matches any text with this prefix. */
export function matchesPattern(pattern: string, text: string): boolean {
  return pattern.endsWith('*') ? text.startsWith(pattern.slice(0, -1)) : text === pattern;
}

function viewOf<Rule>({ id, rule, hits }: Active<Rule>): Rule & ActiveFault {
  return { id, ...rule, hits };
}
