/** Configuration that `opsd init` writes: as text, and as a checked account. */
import type { Account } from '#config/config.ts';
import { formatProblems, parseConfig } from '#config/load.ts';
import { isSeq, parseDocument, stringify, type Node } from 'yaml';
import { CommandError, type CliIo } from '../command.ts';

export interface DraftSecret {
  readonly text: string;
  /** File that has it already. */
  readonly file?: string;
}

/** Names, addresses and credentials of an account. */
export interface AccountDraft<Secret> {
  readonly account: string;
  readonly messageApi?: { readonly url: string; readonly token: Secret };
  readonly managementApi?: {
    readonly url: string;
    readonly accountId: string;
    readonly username: string;
    readonly password: Secret;
  };
  readonly headerPrefix?: string;
  readonly product?: string;
}

export type Draft = AccountDraft<DraftSecret>;

/** Paths of secrets as the configuration names them. */
export interface SecretPaths {
  readonly token: string;
  readonly password: string;
}

export function draftText(draft: Draft, paths: SecretPaths): string {
  const text = yaml({ accounts: [accountOf(draft, paths)] });
  return `# Written by opsd init. config.example.yaml describes every key.\n${text}`;
}

/**
 * Adds the account to the text of a configuration, as its last one. The rest of the text stays as it is.
 *
 * @throws {CommandError} if the text has no list of accounts
 */
export function textWith(text: string, draft: Draft, paths: SecretPaths): string {
  const list = parseDocument(text).get('accounts', true);
  const last = isSeq(list) ? (list.items.at(-1) as Node | undefined)?.range : undefined;
  if (!isSeq(list) || !list.range || !last) {
    throw new CommandError(`the configuration has no list of accounts; add to it:\n${draftText(draft, paths)}`);
  }
  const account = accountOf(draft, paths);
  if (list.flow === true) {
    return `${text.slice(0, last[1])}, ${yaml(account, 'flow').trimEnd()}${text.slice(last[1])}`;
  }
  const [start] = list.range;
  const indent = start - (text.lastIndexOf('\n', start) + 1);
  // Up to the end of the line, with the deeper comments below it: they are about the last account.
  // bounded: each repetition is one line of the file
  const behind = new RegExp(`${text[last[1] - 1] === '\n' ? '' : '.*(?:\n|$)'}(?: {${indent + 1},}#.*(?:\n|$))*`, 'y');
  behind.lastIndex = last[1];
  const before = text.slice(0, last[1] + behind.exec(text)![0].length);
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const lines = yaml([account]).trimEnd().split('\n');
  const added = lines.map((line) => `${' '.repeat(indent)}${line}${eol}`).join('');
  return `${before}${before.endsWith('\n') ? '' : eol}${added}${text.slice(before.length)}`;
}

/** YAML in which a literal `${` names no variable. */
function yaml(value: unknown, collectionStyle: 'any' | 'flow' = 'any'): string {
  return stringify(value, { lineWidth: 0, collectionStyle }).replaceAll('${', '$${');
}

function accountOf({ account, messageApi, managementApi, headerPrefix, product }: Draft, paths: SecretPaths) {
  const { password: _password, ...management } = managementApi ?? {};
  const wire = { ...(headerPrefix !== undefined && { headerPrefix }), ...(product !== undefined && { product }) };
  return {
    name: account,
    ...(messageApi && { messageApi: { url: messageApi.url, tokenFile: paths.token } }),
    ...(managementApi && { managementApi: { ...management, passwordFile: paths.password } }),
    ...(Object.keys(wire).length > 0 && { wire }),
  };
}

/**
 * Account of a draft, with the defaults of the settings.
 *
 * @throws {CommandError} with the problems
 */
export function draftAccount(draft: Draft, env: CliIo['env']): Account {
  const text = draftText(draft, { token: 'token', password: 'password' });
  const parsed = parseConfig(text, { file: 'configuration', baseDir: '/', env, secrets: false });
  if (parsed.ok) return parsed.config.accounts[0]!;
  throw new CommandError(`the answers are not valid:\n${formatProblems(parsed.problems, { color: false })}`);
}
