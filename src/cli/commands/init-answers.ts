/** Answers for `opsd init`: from options, files, the environment, stdin, or the terminal. */
import { readFileSync } from 'node:fs';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { CommandError, textOption, UsageError, type Call, type CliIo } from '../command.ts';
import { draftAccount, type AccountDraft } from './init-draft.ts';

/** Secret with its source. */
export interface GivenSecret {
  /** Secrets of the source; one of them is right. */
  readonly texts: readonly string[];
  /** File that has this secret alone, and can stay where it is. */
  readonly file?: string;
}

export type InitAnswers = AccountDraft<GivenSecret>;

const MANAGEMENT = ['account-id', 'username', 'password-file'] as const;

/**
 * @param account name of the account
 * @throws {UsageError} if something is missing, and there is no terminal to ask on
 */
export async function answersOf(call: Call, account: string): Promise<InitAnswers> {
  const { io, values } = call;
  const [headerPrefix, product] = [textOption(values, 'header-prefix'), textOption(values, 'product')];
  const names = {
    account,
    ...(headerPrefix !== undefined && { headerPrefix }),
    ...(product !== undefined && { product }),
  };
  // No question is about them, so they are checked before the first one.
  draftAccount({ ...names, messageApi: { url: 'http://localhost', token: { text: '' } } }, io.env);
  if (textOption(values, 'token-file') === '-' && textOption(values, 'password-file') === '-') {
    throw new UsageError('--token-file - and --password-file - both read stdin; use a file for one of them');
  }
  const url = await optional(call, 'message-url', 'URL of the message API (empty: without it): ');
  const messageApi = url && { url, token: await secret(call, 'token-file', 'MSGSVC_TOKEN', 'Token: ') };
  const managementUrl = await optional(call, 'management-url', 'URL of the management API (empty: without it): ');
  const astray = MANAGEMENT.find((name) => textOption(values, name) !== undefined);
  if (managementUrl === undefined && astray !== undefined)
    throw new UsageError(`--${astray} requires --management-url`);
  const managementApi = managementUrl && {
    url: managementUrl,
    accountId: await needed(call, 'account-id', 'Id of the account: '),
    username: await needed(call, 'username', 'User: '),
    password: await secret(call, 'password-file', 'MSGSVC_PASSWORD', 'Password or API key: '),
  };
  if (!messageApi && !managementApi) throw new UsageError('--message-url or --management-url is required: which API?');
  return { ...names, ...(messageApi && { messageApi }), ...(managementApi && { managementApi }) };
}

/** Part of an answer that the service did not accept. */
export type WrongPart = 'address' | 'credential';

/**
 * Asks again for what was wrong; all other answers stay.
 *
 * @returns undefined if the user stops, or without a terminal
 */
export async function correctedAnswers(
  answers: InitAnswers,
  api: 'messageApi' | 'managementApi',
  wrong: WrongPart,
  { ask, askSecret }: CliIo,
): Promise<InitAnswers | undefined> {
  const { messageApi, managementApi } = answers;
  const line = async (question: string) => (await ask?.(question))?.trim() ?? '';
  const secretAgain = async (question: string) => textsIn((await askSecret?.(question)) ?? '');
  if (api === 'messageApi') {
    if (wrong === 'address') {
      const url = await line('URL of the message API (empty: stop): ');
      return url === '' ? undefined : { ...answers, messageApi: { ...messageApi!, url } };
    }
    const texts = await secretAgain('Token (empty: stop): ');
    return texts.length === 0 ? undefined : { ...answers, messageApi: { ...messageApi!, token: { texts } } };
  }
  if (wrong === 'address') {
    const url = await line('URL of the management API (empty: stop): ');
    if (url === '') return undefined;
    const accountId =
      (await line(`Id of the account (empty: ${managementApi!.accountId}): `)) || managementApi!.accountId;
    return { ...answers, managementApi: { ...managementApi!, url, accountId } };
  }
  const username = (await line(`User (empty: ${managementApi!.username}): `)) || managementApi!.username;
  const texts = await secretAgain('Password or API key (empty: stop): ');
  return texts.length === 0
    ? undefined
    : { ...answers, managementApi: { ...managementApi!, username, password: { texts } } };
}

async function optional({ io, values }: Call, option: string, question: string): Promise<string | undefined> {
  const given = textOption(values, option) ?? (await io.ask?.(question)) ?? '';
  return given.trim() === '' ? undefined : given.trim();
}

async function needed(call: Call, option: string, question: string): Promise<string> {
  const given = await optional(call, option, question);
  if (given === undefined) throw new UsageError(`--${option} is required`);
  return given;
}

async function secret({ io, values }: Call, option: string, variable: string, question: string): Promise<GivenSecret> {
  const file = textOption(values, option);
  if (file !== undefined && file !== '-') {
    const texts = textsOf(readSecretFile(file), file);
    return { texts, ...(texts.length === 1 && { file }) };
  }
  if (file === '-') return { texts: textsOf(await io.readInput(), 'stdin') };
  const given = io.env[variable] || (await io.askSecret?.(question));
  if (given === undefined) throw new UsageError(`--${option} is required, or ${variable} in the environment`);
  return { texts: textsOf(given, variable) };
}

function textsIn(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.trim().replace(/^Bearer\s+/i, ''))
    .filter((line) => line !== '');
}

function textsOf(text: string, source: string): readonly string[] {
  const texts = textsIn(text);
  if (texts.length === 0) throw new CommandError(`${source} has no secret`);
  return texts;
}

function readSecretFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CommandError(`${file} cannot be read: ${errorMessage(error)}`, { cause: error });
  }
}
