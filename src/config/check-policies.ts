/** What no schema can see of policies: their accounts, their names, their expressions. */
import { compileWhere } from '../policies/expression.ts';
import { withoutValues } from './environment.ts';
import type { Fault, SourceText } from './source-text.ts';
import { nearest } from './suggest.ts';
import { offsetInValue, type Place, pathText, placeAt } from './yaml-place.ts';

/** Policies of one file, in the order in which files are read. */
export interface PolicyList {
  readonly source: SourceText;
  readonly list: Place | undefined;
}

export interface PolicyFault {
  readonly source: SourceText;
  readonly fault: Fault;
}

/** @param config the configuration itself, for its accounts */
export function checkPolicies(lists: readonly PolicyList[], config: Place): PolicyFault[] {
  const accounts = accountsOf(config);
  const names = new Map<string, string>();
  return lists.flatMap(({ source, list }) =>
    (list?.items ?? []).flatMap((policy, index) => {
      const path = ['policies', index] as const;
      const faults: Fault[] = [];
      const name = placeAt(policy, ['name']);
      if (typeof name?.value === 'string' && name.value !== '' && !name.spoilt) {
        const first = names.get(name.value);
        if (first === undefined) names.set(name.value, source.place(name.start));
        else faults.push({ ...at(name, [...path, 'name']), ...nameTwice(name, first) });
      }
      faults.push(...checkAccount(placeAt(policy, ['account']), [...path, 'account'], accounts));
      faults.push(...checkWhere(placeAt(policy, ['where']), [...path, 'where'], source));
      return faults.map((fault) => ({ source, fault }));
    }),
  );
}

function nameTwice(name: Place, first: string): Pick<Fault, 'message' | 'help'> {
  const which = name.expansion === undefined ? `named ${String(name.value)}` : 'of this name';
  return { message: `another policy is ${which}, at ${first}`, help: 'give each policy a name of its own' };
}

/** Name of each account, and whether it has the message API. */
function accountsOf(config: Place): ReadonlyMap<string, boolean> {
  const accounts = new Map<string, boolean>();
  for (const account of placeAt(config, ['accounts'])?.items ?? []) {
    const name = placeAt(account, ['name'])?.value;
    const hasMessages = account.entries?.has('messageApi') === true || account.entries?.has('url') === true;
    if (typeof name === 'string') accounts.set(name, hasMessages);
  }
  return accounts;
}

function checkAccount(
  place: Place | undefined,
  path: readonly PropertyKey[],
  accounts: ReadonlyMap<string, boolean>,
): Fault[] {
  if (typeof place?.value !== 'string' || place.value === '' || place.spoilt) return [];
  const hasMessages = accounts.get(place.value);
  if (hasMessages === true) return [];
  if (hasMessages === false) {
    return [
      {
        ...at(place, path),
        message: 'this account has no message API, which the policy acts through',
        help: 'add messageApi to the account',
      },
    ];
  }
  const meant = place.expansion === undefined ? nearest(place.value, accounts.keys()) : undefined;
  const known = [...accounts.keys()];
  const help =
    meant === undefined
      ? known.length === 0
        ? 'no account is configured'
        : `the accounts are ${known.join(', ')}`
      : `did you mean ${meant}?`;
  return [{ ...at(place, path), message: 'there is no account of this name', help }];
}

function checkWhere(place: Place | undefined, path: readonly PropertyKey[], source: SourceText): Fault[] {
  if (typeof place?.value !== 'string' || place.value.trim() === '' || place.spoilt) return [];
  const result = compileWhere(place.value);
  if (result.ok) return [];
  const message = messageOf(result.message, place);
  const [what, help] = split(message);
  // An end that comes too early is marked behind the last word, not on some empty line.
  const start = offsetInValue(source, place, Math.min(result.offset, place.value.trimEnd().length));
  return [{ start, end: start + 1, path: pathText(path), message: what, ...(help === undefined ? {} : { help }) }];
}

function messageOf(message: string, place: Place): string {
  if (message === 'unexpected token: EOF') return 'the expression ends too early';
  return place.expansion === undefined ? message : withoutValues(message, place.expansion);
}

/** The compiler puts its advice behind a semicolon, as the settings do. */
function split(message: string): readonly [string, string | undefined] {
  const at = message.indexOf('; ');
  return at === -1 ? [message, undefined] : [message.slice(0, at), message.slice(at + 2)];
}

function at(place: Place, path: readonly PropertyKey[]): { start: number; end: number; path: string } {
  return { start: place.start, end: place.end, path: pathText(path) };
}
