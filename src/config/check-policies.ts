/** Checks of policies that no schema can make: accounts, names, expressions, and impossible conditions. */
import { parseDuration } from '#foundation/domain/duration.ts';
import { PRECONDITION, WHERE_ENVIRONMENTS } from '#automate/policies/environments.ts';
import { compileExpression, type CompiledExpression, type RefusedExpression } from '#automate/policies/expression.ts';
import { withoutValues } from './environment.ts';
import { hasMessageApi } from './check-accounts.ts';
import type { Fault, SourceText } from './source-text.ts';
import { nearest, suggestionOr } from '#foundation/domain/suggest.ts';
import {
  faultAt,
  itemsAt,
  offsetInValue,
  type Place,
  pathText,
  placeAt,
  textAt,
  type TextPlace,
  type Words,
} from './yaml-place.ts';

/** Policies of one file, in the order of the files. */
export interface PolicyList {
  readonly source: SourceText;
  readonly list: Place | undefined;
}

export interface PolicyFault {
  readonly source: SourceText;
  readonly fault: Fault;
}

/** @param config the configuration itself, for its accounts; undefined for policies without a configuration */
export function checkPolicies(lists: readonly PolicyList[], config: Place | undefined): PolicyFault[] {
  const accounts = config === undefined ? undefined : accountsOf(config);
  const names = new Map<string, string>();
  return lists.flatMap(({ source, list }) =>
    (list?.items ?? []).flatMap((policy) => {
      const faults: Fault[] = [];
      const name = textAt(policy, 'name');
      if (name !== undefined) {
        const first = names.get(name.value);
        if (first === undefined) names.set(name.value, source.place(name.start));
        else faults.push(faultAt(name, nameTwice(name, first)));
      }
      if (accounts !== undefined) faults.push(...checkAccount(policy, accounts));
      const account = accounts?.get(valueAt(policy, ['account']) ?? '');
      faults.push(...checkExpressions(policy, source, account));
      if (config !== undefined && account !== undefined)
        faults.push(...neverMatches(policy, account), ...neverTold(policy, account, config));
      return faults.map((fault) => ({ source, fault }));
    }),
  );
}

function nameTwice(name: Place, first: string): Words {
  const which = name.expansion === undefined ? `named ${String(name.value)}` : 'of this name';
  return { message: `another policy is ${which}, at ${first}`, help: 'rename one of the policies' };
}

function accountsOf(config: Place): ReadonlyMap<string, Place> {
  return new Map(
    itemsAt(config, 'accounts')
      .map((account) => [valueAt(account, ['name']), account] as const)
      .filter((entry): entry is readonly [string, Place] => entry[0] !== undefined),
  );
}

function checkAccount(policy: Place, accounts: ReadonlyMap<string, Place>): Fault[] {
  const place = textAt(policy, 'account');
  if (place === undefined) return [];
  const account = accounts.get(place.value);
  if (account !== undefined) {
    const lack = valueAt(policy, ['action', 'type']) === 'budget.raise' ? budgetLack(account) : messageLack(account);
    return lack === undefined ? [] : [faultAt(place, lack)];
  }
  const known =
    accounts.size === 0 ? 'no account is configured' : `the accounts are ${[...accounts.keys()].join(', ')}`;
  const help = place.expansion === undefined ? suggestionOr(known, place.value, accounts.keys()) : known;
  return [faultAt(place, { message: 'unknown account', help })];
}

function messageLack(account: Place): Words | undefined {
  if (hasMessageApi(account)) return undefined;
  const message = 'this account has no message API, which the policy needs';
  return { message, help: 'add messageApi to the account' };
}

/** Error about a budget, which can be set but not read: the configuration must state it. */
function budgetLack(account: Place): Words | undefined {
  // An embedded service has its own management API.
  const isEmbedded = [['url'], ['messageApi', 'url']].some((path) => valueAt(account, path) === 'embedded');
  if (account.entries?.has('managementApi') !== true && !isEmbedded) {
    return {
      message: 'this account has no management API, which the policy needs',
      help: 'add managementApi to the account',
    };
  }
  const budget = placeAt(account, ['budget']);
  const known = placeAt(account, ['budget', 'knownUsd'])?.value;
  if (budget === undefined) {
    return {
      message: 'the budget of this account is unknown, and no operation reads it',
      help: 'add budget: { knownUsd: …, assertedOn: … } to the account',
    };
  }
  if (known === 0) {
    return { message: 'the budget of this account has no limit, so it cannot be raised', help: 'remove the policy' };
  }
  if (placeAt(account, ['budget', 'assertedOn']) === undefined) {
    return {
      message: 'the age of the known budget of this account is unknown',
      help: 'add assertedOn to the budget: the day on which it was correct',
    };
  }
  return undefined;
}

function checkExpressions(policy: Place, source: SourceText, account: Place | undefined): Fault[] {
  const type = valueAt(policy, ['action', 'type']) ?? '';
  const faults: Fault[] = [];
  const check = (place: TextPlace | undefined, compile: Compile): void => {
    if (place === undefined || place.value.trim() === '') return;
    const result = compile(place.value);
    if (!result.ok) faults.push(expressionFault(result, place, source));
  };
  // A prune has no `where`.
  if (type !== 'message-dlq.prune') check(textAt(policy, 'where'), (text) => compileWhere(text, type));
  for (const precondition of itemsAt(policy, 'preconditions')) {
    check(textAt(precondition, 'expr'), (text) => {
      const compiled = compileExpression(text, PRECONDITION);
      return (compiled.ok && account && unknownCanary(compiled, account)) || compiled;
    });
  }
  return faults;
}

/** Compiles a `where`. With an unknown type of action, an error must be one for all types. */
function compileWhere(text: string, type: string): ReturnType<Compile> {
  const environments: Partial<Record<string, WhereEnvironment>> = WHERE_ENVIRONMENTS;
  const known = environments[nearest(type, Object.keys(environments)) ?? ''];
  const possible = known === undefined ? Object.values(WHERE_ENVIRONMENTS) : [known];
  // Only the compilation is checked here; the facts depend on the environment.
  const results = possible.map((environment) => compileExpression<never>(text, environment));
  return results.find(({ ok }) => ok) ?? results[0]!;
}

type WhereEnvironment = (typeof WHERE_ENVIRONMENTS)[keyof typeof WHERE_ENVIRONMENTS];

type Compile = (text: string) => { readonly ok: true } | RefusedExpression;

/** Error about a canary that the account does not have: its verdict would never be known. */
function unknownCanary(
  { canaries }: Pick<CompiledExpression<never>, 'canaries'>,
  account: Place,
): RefusedExpression | undefined {
  const known = itemsAt(account, 'canaries').flatMap((canary) => valueAt(canary, ['name']) ?? []);
  const unknown = canaries.find(({ name }) => !known.includes(name));
  if (unknown === undefined) return undefined;
  const help = suggestionOr('add it to accounts[].canaries', unknown.name, known);
  return { ok: false, message: `the account has no canary ${unknown.name}; ${help}`, offset: unknown.offset };
}

function expressionFault(result: RefusedExpression, place: TextPlace, source: SourceText): Fault {
  // The compiler separates message and advice with a semicolon, as the settings do.
  const [message, ...advice] = messageOf(result.message, place).split('; ');
  // A premature end is marked after the last word, not on an empty line.
  const start = offsetInValue(source, place, Math.min(result.offset, place.value.trimEnd().length));
  const help = advice.length === 0 ? undefined : advice.join('; ');
  return { start, end: start + 1, path: pathText(place.path), message: message!, help };
}

function messageOf(message: string, place: Place): string {
  if (message === 'unexpected token: EOF') return 'the expression ends too early';
  return place.expansion === undefined ? message : withoutValues(message, place.expansion);
}

/** Default grace period of a delete. */
const DEFAULT_GRACE = '72h';

/**
 * Warnings about valid settings that can never take effect: the DLQ drops the entries first, or the ceiling is reached.
 */
function neverMatches(policy: Place, account: Place): Fault[] {
  const warn = (keys: readonly string[], message: string, help: string): Fault[] => [
    faultAt(placeAt(policy, keys) ?? policy, { message, help, severity: 'warning' }),
  ];
  const type = valueAt(policy, ['action', 'type']);
  const known = placeAt(account, ['budget', 'knownUsd'])?.value;
  const ceiling = placeAt(policy, ['action', 'ceilingUsd'])?.value;
  if (type === 'budget.raise' && typeof known === 'number' && typeof ceiling === 'number' && ceiling <= known) {
    return warn(
      ['action', 'ceilingUsd'],
      `the known budget is already ${known}, so it is never raised`,
      'set a higher ceiling',
    );
  }
  const retention = durationAt(account, ['limits', 'dlqRetention']);
  const age = durationAt(policy, ['select', 'failedBefore']) ?? 0;
  if (retention === undefined) return [];
  if (age >= retention) {
    return warn(
      ['select', 'failedBefore'],
      `never matches: the DLQ keeps an entry for ${valueAt(account, ['limits', 'dlqRetention'])}`,
      'make it shorter than limits.dlqRetention of the account',
    );
  }
  if (type !== 'workflow-dlq.delete') return [];
  const grace = valueAt(policy, ['action', 'grace']) ?? DEFAULT_GRACE;
  if (age + (parseDuration(grace) ?? 0) < retention) return [];
  return warn(
    placeAt(policy, ['action', 'grace']) === undefined ? ['action'] : ['action', 'grace'],
    `never deletes: with a grace of ${grace} entries are older than the DLQ’s retention of ` +
      `${valueAt(account, ['limits', 'dlqRetention'])}`,
    'shorten grace or select.failedBefore',
  );
}

/** Warnings about triggers that need hooks: alerts, and dead messages. */
function neverTold(policy: Place, account: Place, config: Place): Fault[] {
  const faults: Fault[] = [];
  const warn = (place: Place | undefined, message: string, help: string): void => {
    if (place !== undefined) faults.push(faultAt(place, { message, help, severity: 'warning' }));
  };
  const name = valueAt(policy, ['account']) ?? '';
  const hasCallbacks = placeAt(config, ['hooks', 'callbacks', name]) !== undefined;
  const addCallbacks = `add hooks.callbacks.${name}`;
  if ((placeAt(config, ['hooks', 'alertmanager'])?.entries?.size ?? 0) === 0) {
    warn(placeAt(policy, ['on', 'alert']), 'no trigger: no hook receives alerts', 'add hooks.alertmanager');
    for (const precondition of itemsAt(policy, 'preconditions')) {
      const expression = placeAt(precondition, ['expr']);
      if (!String(expression?.value).includes('alertFiring(')) continue;
      const message = 'always unknown: no hook receives alerts, so the policy is held';
      warn(expression, message, 'add hooks.alertmanager');
    }
  }
  const type = valueAt(policy, ['action', 'type']);
  if (type === 'message-dlq.republish' && placeAt(account, ['deadLetters', 'bodies']) === undefined) {
    const message = 'never acts: the account keeps no bodies of failed messages';
    warn(placeAt(policy, ['action', 'type']), message, `add deadLetters.bodies to account ${name}`);
  }
  if (hasCallbacks) return faults;
  warn(
    placeAt(policy, ['on', 'failureCallback']),
    'no trigger: no hook receives callbacks of this account',
    addCallbacks,
  );
  if (type === 'message-dlq.republish' || type === 'message-dlq.delete') {
    const message = 'never matches: the ids of dead messages come only from failure callbacks';
    warn(placeAt(policy, ['action', 'type']), message, addCallbacks);
  }
  return faults;
}

function valueAt(place: Place, path: readonly string[]): string | undefined {
  const value = placeAt(place, path)?.value;
  return typeof value === 'string' ? value : undefined;
}

function durationAt(place: Place, path: readonly string[]): number | undefined {
  return parseDuration(valueAt(place, path) ?? '');
}
