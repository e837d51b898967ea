/** Raw calls: an operation by its name, and the service's response unchanged. */
import type { AnswerHead, ApiConnection } from './connection.ts';
import { rememberSecret } from '#foundation/domain/known-secrets.ts';
import { maskedJson, maskedTexts, secretTexts } from './mask-secrets.ts';
import { operationNamed, type Operation } from './operations.ts';
import type { OperationValues } from './operation-values.ts';
import { checkSelection, requestOf, type OperationRequest } from './request.ts';
import { InvalidRequestError } from './service-error.ts';
import type { Drops } from './parse/reader.ts';
import type { WireNames } from './wire-names.ts';

export interface RawAnswer {
  readonly status: number;
  readonly contentType: string | undefined;
  /** Received body, with `[secret]` in place of secrets. */
  readonly body: Buffer;
}

export interface RawCalls {
  /** Checks a request without sending it. @throws {InvalidRequestError} */
  check(operation: Operation, values: OperationValues): void;
  /**
   * Sends an operation. A read may be repeated, a write never is. Rejects as the other methods of the client do.
   *
   * @param onBody called first with the original response body, as the only holder of its secrets
   */
  send(
    operation: Operation,
    values: OperationValues,
    call: { readonly signal: AbortSignal; readonly onBody?: (body: string) => void },
  ): Promise<RawAnswer>;
  /** Reads with the credential of writes, to check a new one. */
  tryWriter(call: { readonly signal: AbortSignal }): Promise<void>;
}

export interface RawConnections {
  readonly message?: ApiConnection | undefined;
  readonly management?: ApiConnection | undefined;
  readonly names: WireNames;
}

export function createRawCalls({ message, management, names }: RawConnections): RawCalls {
  const connectionOf = ({ name, api }: Operation): ApiConnection => {
    const connection = api === 'message' ? message : management;
    if (connection !== undefined) return connection;
    throw new InvalidRequestError(name, `the account has no ${api} API in the configuration`);
  };

  /** A bulk operation without ids or a filter is rejected: no caller can send it. */
  const checked = (operation: Operation, values: OperationValues): OperationRequest => {
    checkSelection(operation, values);
    return requestOf(operation, values, names);
  };

  return {
    check(operation, values) {
      connectionOf(operation);
      checked(operation, values);
    },

    async send(operation, values, { signal, onBody }) {
      const { name, api } = operation;
      const request = checked(operation, values);
      const connection = connectionOf(operation);
      const parse = (body: Buffer, _drops: Drops, { status, contentType, secrets }: AnswerHead): RawAnswer => {
        onBody?.(body.toString('utf8'));
        const credentials = secrets.filter((secret) => !request.hidden.includes(secret));
        if (name === 'rotate-token') for (const created of secretTexts(body)) rememberSecret(created);
        // The connection frees the body after this call.
        const masked = api === 'management' ? maskedJson(body) : Buffer.from(body);
        return { status, contentType, body: maskedTexts(masked, credentials) };
      };
      const call = { ...request, parse };
      const { value } = await (request.method === 'GET'
        ? connection.read(call, signal)
        : connection.write(call, signal));
      return value;
    },

    async tryWriter({ signal }) {
      const read = operationNamed('list-url-groups')!;
      const call = { ...requestOf(read, {}, names), actsAsWriter: true as const, parse: () => undefined };
      await connectionOf(read).read(call, signal);
    },
  };
}
