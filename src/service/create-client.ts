/** Creates the service's client for one account: one connection for each configured API, closed together. */
import type { ClientPair } from '#foundation/platform/client-pair.ts';
import type { Secret } from '#foundation/platform/secret.ts';
import type { Api } from '#foundation/events/events.ts';
import type { ServiceClient } from './api.ts';
import { ApiConnection, type ConnectionDeps } from './connection.ts';
import { basic, bearer, type Credentials } from './credentials.ts';
import { createManagementApi } from './management-api.ts';
import { createMessageApi } from './message-api.ts';
import { createRawCalls, type RawCalls } from './raw-calls.ts';
import type { ClientSettings, WireSettings } from './settings.ts';
import { wireNames } from './wire-names.ts';

interface Target {
  readonly url: string;
  /** Returns the client certificate. */
  readonly client?: () => ClientPair;
}

export interface ClientOptions {
  /** Name in the configuration, used as label of events. */
  readonly account: string;
  /** `actionToken`, if given, is used only for writes. */
  readonly messageApi?: Target & { readonly token: Secret; readonly actionToken?: Secret };
  readonly managementApi?: Target & { readonly username: string; readonly password: Secret };
  readonly wire: WireSettings;
  /** Requests that the service accepts from the account in a day. A statistics point far above it is invalid. */
  readonly requestsPerDay?: number;
  readonly limits: ClientSettings;
}

/** Client with calls by the operation's name, which only operators use. */
export interface AccountClient extends ServiceClient {
  readonly raw: RawCalls;
}

/**
 * Creates the client. No connection is opened before the first request. Dispose the client when it is no longer used.
 */
export function createClient(options: ClientOptions, deps: ConnectionDeps): AccountClient {
  const { account, limits, messageApi, managementApi } = options;
  const names = wireNames(options.wire, options.requestsPerDay);
  const connection = (api: Api, { url, client }: Target, credentials: Credentials): ApiConnection =>
    new ApiConnection({ account, api, baseUrl: url, credentials, client, limits }, deps);
  const message = messageApi && connection('message', messageApi, bearer(messageApi.token, messageApi.actionToken));
  const management =
    managementApi && connection('management', managementApi, basic(managementApi.username, managementApi.password));
  return {
    ...(message && { message: createMessageApi(message, names) }),
    ...(management && { management: createManagementApi(management, names) }),
    raw: createRawCalls({ message, management, names }),
    usage(api) {
      const used = api === 'message' ? message : management;
      return used?.usage() ?? { usedToday: 0, allowedPerDay: limits.requestsPerDay };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([message?.[Symbol.asyncDispose](), management?.[Symbol.asyncDispose]()]);
    },
  };
}
