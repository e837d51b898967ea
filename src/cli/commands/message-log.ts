/** Message API of an account for a command. */
import type { MessageApi } from '#service/api.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import type { Account } from '#config/config.ts';
import { CommandError, type CliIo } from '../command.ts';
import { secretOf, tokenTrial, withClient } from './check-connect.ts';

/**
 * Runs the work with the message API of an account.
 *
 * @throws {CommandError} if the account has no such API, or it does not respond
 */
export async function withMessageApi<T>(
  { account, io }: { readonly account: Account; readonly io: CliIo },
  work: (api: MessageApi) => Promise<T>,
): Promise<T> {
  const { messageApi } = account;
  if (messageApi === undefined) throw new CommandError(`account ${account.name} has no message API configured`);
  if (messageApi.url === 'embedded') {
    throw new CommandError(`account ${account.name} is embedded in its daemon, so a command cannot read its log`);
  }
  const { client } = tokenTrial(account, secretOf(messageApi.token, messageApi.tokenFile)!);
  const options = { ...client, limits: account.client };
  try {
    return await withClient(options, io, ({ message }) => work(message!));
  } catch (error) {
    io.signal.throwIfAborted();
    if (error instanceof CommandError) throw error;
    throw new CommandError(`the log of account ${account.name} cannot be read: ${errorMessage(error)}`, {
      cause: error,
    });
  }
}
