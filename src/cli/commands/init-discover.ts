/** Tries the answers of `opsd init` against the service, and reports what works. */
import type { Account } from '#config/config.ts';
import { Secret } from '#foundation/platform/secret.ts';
import { CommandError, type CliIo } from '../command.ts';
import { printable } from '../output.ts';
import { attempt, tokenTrial, type Attempt } from './check-connect.ts';
import { draftAccount, type Draft, type DraftSecret } from './init-draft.ts';
import { correctedAnswers, type InitAnswers, type GivenSecret, type WrongPart } from './init-answers.ts';
import { findHeaderPrefix, isOfAddress, tryProducts } from './wire-discovery.ts';

interface Discovery {
  readonly report: readonly string[];
  /** Absent if the API does not work. */
  readonly draft?: Draft;
  /** Part of the answers that was not accepted. */
  readonly wrong?: WrongPart;
}

/** @returns undefined if an API does not work, and the user did not correct the answers */
export async function discover(given: InitAnswers, io: CliIo): Promise<Draft | undefined> {
  const { account, headerPrefix, product } = given;
  let answers = given;
  let draft: Draft = { account, ...(headerPrefix && { headerPrefix }), ...(product && { product }) };
  for (const [api, find] of [
    ['messageApi', findMessageApi],
    ['managementApi', findManagementApi],
  ] as const) {
    for (;;) {
      const found = await find(answers, draft, io).catch((error: unknown) => invalid(error, io));
      for (const line of found.report) io.stdout.write(`${printable(line)}\n`);
      if (found.draft !== undefined) {
        draft = found.draft;
        break;
      }
      const corrected = await correctedAnswers(answers, api, found.wrong!, io);
      if (corrected === undefined) return undefined;
      answers = corrected;
    }
  }
  return draft;
}

/** An address that is not valid can be corrected on a terminal. */
function invalid(error: unknown, io: CliIo): Discovery {
  if (!(error instanceof CommandError) || io.ask === undefined) throw error;
  return { report: error.message.split('\n'), wrong: 'address' };
}

async function findMessageApi({ messageApi }: InitAnswers, draft: Draft, io: CliIo): Promise<Discovery> {
  if (messageApi === undefined) return { report: ['Message API: left out'], draft };
  let first: Attempt | undefined;
  for (const url of baseUrls(messageApi.url)) {
    for (const [index, text] of messageApi.token.texts.entries()) {
      const token = Secret.of(text);
      const next: Draft = { ...draft, messageApi: { url, token: chosen(messageApi.token, text) } };
      const account = draftAccount(next, io.env);
      const made = await attempt(tokenTrial(account, token), io);
      if (made.ok) {
        const which = messageApi.token.texts.length > 1 ? `token ${index + 1} of the source` : 'token';
        const prefix = await headerPrefix(next, account, token, io);
        return { report: [`Message API: ${url}, ${which} accepted`, prefix.said], draft: prefix.draft };
      }
      first ??= made;
      if (!isOfCredential(made)) break;
    }
    if (!isOfAddress(first!)) break;
  }
  return { report: [`Message API: failed: ${first!.result}`], wrong: wrongOf(first!) };
}

async function headerPrefix(
  draft: Draft,
  account: Account,
  token: Secret,
  io: CliIo,
): Promise<{ readonly said: string; readonly draft: Draft }> {
  const found = await findHeaderPrefix(account, token, io);
  const current = account.wire.headerPrefix;
  if (found === undefined) {
    return { said: `Header prefix: ${current}, not confirmed, because no failed run has the service’s headers`, draft };
  }
  if (found.toLowerCase() === current.toLowerCase())
    return { said: `Header prefix: ${current}, as in the failed runs`, draft };
  return { said: `Header prefix: ${found}, found in the failed runs`, draft: { ...draft, headerPrefix: found } };
}

async function findManagementApi({ managementApi }: InitAnswers, draft: Draft, io: CliIo): Promise<Discovery> {
  if (managementApi === undefined) return { report: ['Management API: left out'], draft };
  const { accountId, username, password } = managementApi;
  let first: Attempt | undefined;
  let products: readonly string[] = [];
  for (const url of baseUrls(managementApi.url)) {
    for (const text of password.texts) {
      const next: Draft = { ...draft, managementApi: { url, accountId, username, password: chosen(password, text) } };
      const { product, attempt: made, tried } = await tryProducts(draftAccount(next, io.env), Secret.of(text), io);
      if (made.ok) {
        const report = [`Management API: ${url}, password accepted`, `Product: ${product}`];
        return { report, draft: { ...next, product } };
      }
      first ??= made;
      products = tried;
      if (!isOfCredential(made)) break;
    }
    if (!isOfAddress(first!)) break;
  }
  const also = products.length > 1 ? ` (products tried: ${products.join(', ')})` : '';
  return { report: [`Management API: failed: ${first!.result}${also}`], wrong: wrongOf(first!) };
}

function wrongOf(made: Attempt): WrongPart {
  return isOfCredential(made) ? 'credential' : 'address';
}

/** Returns true if another credential may succeed. */
function isOfCredential({ code }: Attempt): boolean {
  return code === 'unauthorized' || code === 'forbidden';
}

function chosen({ texts, file }: GivenSecret, text: string): DraftSecret {
  return texts.length === 1 && file !== undefined ? { text, file } : { text };
}

/** URL without the version and the path that users copy with it, and its server alone. */
function baseUrls(url: string): readonly string[] {
  const base = url.replace(/\/v2(?:\/.*)?$/, '').replace(/(?<!\/)\/+$/, '');
  const origin = URL.parse(base)?.origin;
  return origin === undefined || origin === 'null' ? [base] : [...new Set([base, origin])];
}
