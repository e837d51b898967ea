/** Configuration that `opsd init` writes: as text, and as a checked account. */
import type { Account } from '#config/config.ts';
import { formatProblems, parseConfig } from '#config/load.ts';
import { stringify } from 'yaml';
import { CommandError, type CliIo } from '../command.ts';

export interface DraftSecret {
  readonly text: string;
  /** File that has it already. */
  readonly file?: string;
}

export interface Draft {
  readonly account: string;
  readonly messageApi?: { readonly url: string; readonly token: DraftSecret };
  readonly managementApi?: {
    readonly url: string;
    readonly accountId: string;
    readonly username: string;
    readonly password: DraftSecret;
  };
  readonly headerPrefix?: string;
  readonly product?: string;
}

/** Paths of secrets as the configuration names them. */
export interface SecretPaths {
  readonly token: string;
  readonly password: string;
}

export function draftText(draft: Draft, paths: SecretPaths): string {
  const { account, messageApi, managementApi, headerPrefix, product } = draft;
  const wire = { ...(headerPrefix !== undefined && { headerPrefix }), ...(product !== undefined && { product }) };
  const config = {
    accounts: [
      {
        name: account,
        ...(messageApi && { messageApi: { url: messageApi.url, tokenFile: paths.token } }),
        ...(managementApi && {
          managementApi: {
            url: managementApi.url,
            accountId: managementApi.accountId,
            username: managementApi.username,
            passwordFile: paths.password,
          },
        }),
        ...(Object.keys(wire).length > 0 && { wire }),
      },
    ],
  };
  // A literal `${` would name a variable.
  const text = stringify(config, { lineWidth: 0 }).replaceAll('${', '$${');
  return `# Written by opsd init. config.example.yaml describes every key.\n${text}`;
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
