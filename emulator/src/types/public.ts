/**
 * The public types of `msgsvc-opsd/emulator`. The build copies this file into the package's declarations, so it imports
 * nothing.
 */

/** Options of an emulator. Each has a default. */
export interface EmulatorOptions {
  /** Bearer token of the message API. Default `token`. */
  readonly token?: string | undefined;
  /** Id of the account. Default `7d8a1f5e-3c42-4b6e-9a10-5f2e8c7b4d31`. */
  readonly accountId?: string | undefined;
  /** User name of the management API. Default `user`. */
  readonly username?: string | undefined;
  /** Password of the management API. Default `password`. */
  readonly password?: string | undefined;
  /** Address to listen on. Default `127.0.0.1`. */
  readonly host?: string | undefined;
  /** Port to listen on. Default 0, which selects a free port. */
  readonly port?: number | undefined;
  /** `virtual` time stops until `clock` moves it; with `skip`, it jumps to the next due delivery. Default `real`. */
  readonly time?: 'real' | 'virtual' | 'skip' | undefined;
  /** Real milliseconds without a request or a delivery to your servers after which time skips. Default 20. */
  readonly quietMs?: number | undefined;
  /** First time of the emulator, in 2000 to 2099, in epoch milliseconds or as a date. Default: the machine's time. */
  readonly startAt?: number | Date | undefined;
  /** Plan of the account, which determines its limits. Default `paid`. */
  readonly plan?: Plan | undefined;
  /** Enforces the limits of the plan. Default true. */
  readonly enforceLimits?: boolean | undefined;
  /** Prefix of the service's own headers. Default `Svc`. */
  readonly headerPrefix?: string | undefined;
  /** Name of the service in management paths, fields and plans. Default `msgsvc`. */
  readonly product?: string | undefined;
  /** Issuer in the signatures of deliveries. Default: `product`. */
  readonly issuer?: string | undefined;
  /** Time in the signatures of deliveries: the machine's, or the emulator's with `virtual`. Default `real`. */
  readonly signatureTime?: 'real' | 'virtual' | undefined;
  /** Keys that sign deliveries. Default: random keys. */
  readonly signingKeys?: Partial<SigningKeys> | undefined;
  /** Local ports of host names: deliveries to `https://shop.example/…` go to `{ 'shop.example': 3000 }`. Default: none. */
  readonly hosts?: Readonly<Record<string, number>> | undefined;
  /** Calls the failure function of a workflow whose run fails permanently. Default false. */
  readonly failureFunction?: boolean | undefined;
  /** Rejects destinations on this machine and in private networks, except `hosts` and scripted ones. Default false. */
  readonly refusePrivate?: boolean | undefined;
  /** Serves pages at `url` that show messages, DLQs, keys and the clock. Default: true on a loopback address. */
  readonly pages?: boolean | undefined;
  /** Seed of generated ids and of the jitter of retries, so that runs are equal. Default: random. */
  readonly seed?: number | undefined;
  /** Called with failures of the emulator itself, which clients receive as 500. Default: written to stderr. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

export type Plan = 'free' | 'paid' | 'fixed_1m' | 'fixed_10m' | 'fixed_100m' | 'fixed' | 'enterprise';

export interface SigningKeys {
  readonly current: string;
  readonly next: string;
}

/** A running emulator. `await using` stops it at the end of the block. */
export interface Emulator extends AsyncDisposable {
  /** Base URL of both APIs, such as `http://127.0.0.1:40123`. */
  readonly url: string;
  /** Present bearer token of the message API; a rotation replaces it. */
  readonly token: string;
  readonly accountId: string;
  readonly username: string;
  readonly password: string;
  readonly clock: EmulatorClock;
  /** Faults of the service's own API. */
  readonly faults: EmulatorFaults<FaultRule>;
  /** Faults of the service's deliveries. */
  readonly deliveryFaults: EmulatorFaults<DeliveryFaultRule>;
  /** Destinations that follow a script, so that a test needs no server of its own. */
  readonly destinations: EmulatorDestinations;
  /** Present keys that sign deliveries. */
  readonly signingKeys: SigningKeys;
  /** Makes the next signing key the current one, generates a new next key, and returns both. */
  rollSigningKeys(): SigningKeys;
  /** Returns all messages that have not ended, and ended ones while the log has them; oldest first. */
  messages(): readonly EmulatorMessage[];
  /** Returns the entries of the message DLQ and of the workflow DLQ, oldest failure first. */
  deadLetters(): readonly DeadLetter[];
  /** Returns the last 1,000 requests to both APIs, oldest first, without credentials. */
  requests(): readonly ApiRequest[];
  /**
   * Adds state: groups, keys, dead letters, destinations, and messages.
   *
   * @throws {Error} with each problem and its place; a problem that the service finds leaves the earlier parts
   */
  seed(seed: EmulatorSeed): Promise<SeedResult>;
  /**
   * Resolves when each message is delivered, has failed, or waits for something outside, such as a paused key. In
   * virtual time, the next move of `clock` is outside too.
   *
   * @throws {Error} that names what keeps the emulator busy, after `limitMs`
   */
  idle(options?: IdleOptions): Promise<void>;
  /** Restores the state of the start, except time and signing keys. Deliveries in progress are aborted. */
  reset(): Promise<void>;
  /** Stops the emulator and aborts deliveries in progress. Idempotent. */
  stop(): Promise<void>;
}

/** Time of the emulator. It never moves backward. */
export interface EmulatorClock {
  readonly mode: 'real' | 'virtual' | 'skip';
  /** Returns the present time in epoch milliseconds. */
  now(): number;
  /**
   * Moves the time forward by milliseconds, at most 400 days, and resolves when all deliveries that became due were
   * made. The service waits for the responses of destinations, so the move causes no timeout.
   *
   * @throws {Error} for a negative number, more than 400 days, or a value that is not a number
   */
  advance(ms: number, options?: AdvanceOptions): Promise<void>;
  /** Moves the time forward to a moment, in epoch milliseconds or as a date, in the same way. */
  set(time: number | Date, options?: AdvanceOptions): Promise<void>;
}

export interface IdleOptions {
  /** Maximum wait in real milliseconds. Default 4,000. */
  readonly limitMs?: number | undefined;
}

export interface AdvanceOptions {
  /** Real milliseconds to wait for one delivery; after that it counts as hanging. Default 5,000. */
  readonly patienceMs?: number | undefined;
}

export type MessageState =
  | 'CREATED'
  | 'ACTIVE'
  | 'RETRY'
  | 'ERROR'
  | 'DELIVERED'
  | 'FAILED'
  | 'CANCEL_REQUESTED'
  | 'CANCELLED';

/** A message that the service accepted. */
export interface EmulatorMessage {
  readonly id: string;
  readonly state: MessageState;
  /** Destination. */
  readonly url: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Headers for the destination, by lower-case name: the content type and the forwarded headers. */
  readonly headers: Readonly<Record<string, string>>;
  /** Body as UTF-8 text. */
  readonly body: string;
  readonly bodyBytes: Uint8Array;
  /** Number of delivery attempts that began. */
  readonly attempts: number;
  readonly maxRetries: number;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** Earliest delivery, in epoch milliseconds. */
  readonly notBefore: number;
  readonly labels: readonly string[];
  readonly flowControlKey?: string;
  /** URL Group that the message was published to. */
  readonly urlGroup?: string;
  readonly workflowRunId?: string;
  readonly scheduleId?: string;
  readonly queueName?: string;
  readonly callbackUrl?: string;
  readonly failureCallbackUrl?: string;
  /** Id of its dead letter, also after that was resumed or deleted. */
  readonly dlqId?: string;
  /** HTTP status of the last attempt; absent without a response. */
  readonly responseStatus?: number;
  /** First 64 kB of the last response, as UTF-8 text. */
  readonly responseBody?: string;
  /** Reason why the last attempt failed. */
  readonly error?: string;
}

/** A message that failed permanently and is in a DLQ. */
export interface DeadLetter extends EmulatorMessage {
  /** `workflow` is an entry of the workflow DLQ. */
  readonly kind: 'message' | 'workflow';
  readonly dlqId: string;
  /** Epoch milliseconds. */
  readonly failedAt: number;
  /** State of the failure function or failure callback of a workflow run, if it has one. */
  readonly failureFunctionState?: 'CALLBACK_INPROGRESS' | 'CALLBACK_SUCCESS' | 'CALLBACK_FAIL' | 'CALLBACK_CANCELED';
}

export interface EmulatorFaults<Rule> {
  /**
   * Adds a rule. If several rules match, all apply, in the order of their creation.
   *
   * @throws {Error} for an invalid rule, with the name of the field
   */
  add(rule: Rule): Rule & ActiveFault;
  list(): readonly (Rule & ActiveFault)[];
  /** Returns false if no such rule exists. */
  remove(id: string): boolean;
  clear(): void;
}

export interface ActiveFault {
  readonly id: string;
  /** Number of requests or deliveries that the rule was applied to, when this value was returned. */
  readonly hits: number;
}

/** Frequency of a rule. */
export interface FaultFrequency {
  /** Number of matches that pass first. Default 0. */
  readonly skip?: number;
  /** Number of matches that the rule then applies to. Default: all. */
  readonly times?: number;
  /** Probability for each such match, from 0 to 1. Default 1. */
  readonly probability?: number;
}

/** The requests that a fault applies to, and the fault. */
export interface FaultRule extends FaultFrequency {
  /** Operations of the service; all when absent. */
  readonly operations?: readonly OperationName[];
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path of the request. A trailing `*` matches any path with this prefix. */
  readonly path?: string;
  readonly fault: Fault;
}

/** The messages that a fault applies to, and the fault. Callbacks are messages too. */
export interface DeliveryFaultRule extends FaultFrequency {
  /** Destination. A trailing `*` matches any URL with this prefix. */
  readonly url?: string;
  readonly label?: string;
  readonly fault: DeliveryFault;
}

export type DeliveryFault =
  /** The service accepts the message, and begins its delivery later by `ms`, or never. The log reports no delay. */
  | { readonly kind: 'held'; readonly ms?: number }
  /** Attempts fail, and no request is sent. `error` replaces the text of the error. */
  | {
      readonly kind: 'unreachable';
      readonly how: 'dns' | 'refused' | 'reset' | 'tls' | 'timeout';
      readonly error?: string;
    }
  /** Attempts report this status, whatever the destination responds. With `sent: false`, no request is sent. */
  | { readonly kind: 'misreported'; readonly status: number; readonly sent?: boolean }
  /** Attempts send their request twice. */
  | { readonly kind: 'sent-twice' }
  /** Attempts send another body: its second half is missing, or its last byte is another one. */
  | { readonly kind: 'altered'; readonly how: 'cut' | 'changed' }
  /** Transitions to these states, or all, are not in the log. */
  | { readonly kind: 'unlogged'; readonly states?: readonly MessageState[] }
  /** Neither callback nor failure callback is sent. */
  | { readonly kind: 'no-callback' };

export type Fault =
  /** The request waits in real time. */
  | { readonly kind: 'latency'; readonly ms: number }
  /** The response has this status (400 to 599), and the request has no effect. */
  | { readonly kind: 'status'; readonly status: number; readonly error?: string; readonly retryAfter?: number }
  /** The response is 429 with the headers of that limit, and the request has no effect. */
  | {
      readonly kind: 'rate-limit';
      readonly form: 'burst' | 'daily';
      readonly limit?: number;
      readonly resetMs?: number;
    }
  /** The request is processed, and the connection ends without a response. */
  | { readonly kind: 'lost' }
  /** The request is processed, and its response is cut in half. `connection` breaks the connection too. */
  | { readonly kind: 'truncated'; readonly how?: 'json' | 'connection' }
  /** The filters of these names, or all filters, are ignored. A bulk delete then deletes more. */
  | { readonly kind: 'ignored-filters'; readonly names?: readonly string[] }
  /** The response repeats the request's cursor, so that a listing never ends. */
  | { readonly kind: 'repeated-cursor' }
  /** Fields of these names are removed from the response. */
  | { readonly kind: 'missing-fields'; readonly fields: readonly string[] }
  /** Times in the response are in seconds instead of milliseconds. */
  | { readonly kind: 'seconds'; readonly fields?: readonly string[] }
  /** Rows younger than `ms` are missing: all of them, or a share. They appear later. */
  | { readonly kind: 'late'; readonly ms: number; readonly share?: number }
  /** Rows appear twice: all of them, or a share; in the same response or in the next one. */
  | { readonly kind: 'duplicate'; readonly share?: number; readonly when?: 'at-once' | 'later' }
  /** A share of the rows is missing. */
  | { readonly kind: 'missing'; readonly share: number }
  /** The `Date` of the response is later by this, or earlier. */
  | { readonly kind: 'clock-skew'; readonly ms: number };

/** Operations of the service. */
export type OperationName =
  | 'add-endpoints'
  | 'create-index'
  | 'delete-dlq'
  | 'delete-workflow-dlq'
  | 'get-account-stats'
  | 'get-flow-control'
  | 'get-index'
  | 'get-vector-stats'
  | 'list-logs'
  | 'list-url-groups'
  | 'list-workflow-dlq'
  | 'move-to-team'
  | 'publish'
  | 'rename-index'
  | 'resume-workflow-dlq'
  | 'rotate-token'
  | 'set-plan'
  | 'transfer-index'
  | 'trigger'
  | 'update-budget';

export interface EmulatorDestinations {
  /**
   * Sets the responses of `place`: a host name, or `host/path` for that path and all below it. Each request gets one
   * step; the last step repeats. The previous script of the place is discarded.
   *
   * @throws {Error} for an invalid place or step
   */
  script(place: string, steps: readonly Step[]): Promise<void>;
  /** Returns the last 1,000 requests to a host with a script, oldest first. */
  requests(host: string): readonly DeliveredRequest[];
  /** Removes scripts and requests of one host, or of all. */
  clear(host?: string): void;
}

/** A status, a fault, or a step with details. */
export type Step = number | StepFault | StepDetails;

/**
 * `refuse`: no connection. `reset`: the connection breaks before the response. `hang`: no response. `cut`: the
 * connection breaks in the body.
 */
export type StepFault = 'refuse' | 'reset' | 'hang' | 'cut';

export interface StepDetails {
  /** Default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Delay before the response, in milliseconds of the emulator's clock. */
  readonly afterMs?: number;
  /** Duration of the body, in milliseconds of the emulator's clock. */
  readonly bodyMs?: number;
  /** Seconds, or an HTTP date. */
  readonly retryAfter?: number | string;
  /** Adds the header that, with status 489, asks the service not to retry. */
  readonly nonRetryable?: boolean;
  readonly fault?: StepFault;
  /** Number of requests for this step. Default 1; the last step is for all later requests. */
  readonly times?: number;
}

/** A delivery that a scripted destination received. */
export interface DeliveredRequest {
  /** Epoch milliseconds of the emulator's clock. */
  readonly at: number;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Headers by lower-case name. */
  readonly headers: RequestHeaders;
  /** Body as UTF-8 text. */
  readonly body: string;
  readonly bodyBytes: Uint8Array;
}

/** State for an emulator; the format of `opsd emulator --seed`. It applies in the order of this type. */
export interface EmulatorSeed {
  /** The time moves forward to it: an ISO date with its zone, or epoch milliseconds. */
  readonly startAt?: string | number | undefined;
  readonly plan?: Plan | undefined;
  /** Monthly budget in dollars; 0 is unlimited. */
  readonly budgetUsd?: number | undefined;
  /** Limits of the account that differ from its plan, named as in the account record, such as `max_retries`. */
  readonly limits?: Readonly<Record<string, number | undefined>> | undefined;
  readonly urlGroups?: readonly SeededUrlGroup[] | undefined;
  /** Keys with pinned limits, or paused. */
  readonly flowControlKeys?: readonly SeededFlowControlKey[] | undefined;
  readonly indexes?: readonly SeededIndex[] | undefined;
  /** Ids of vector indexes without a search index. */
  readonly vectorIndexes?: readonly string[] | undefined;
  /** Traffic that ends now: `days` (30), the last `logMinutes` (10) in the log too, `deadLetters` (25) in each DLQ. */
  readonly history?: Readonly<Partial<Record<'days' | 'logMinutes' | 'deadLetters', number>>> | undefined;
  /** Entries of the message DLQ. */
  readonly deadLetters?: readonly SeededFailure[] | undefined;
  /** Entries of the workflow DLQ. */
  readonly failedRuns?: readonly SeededFailedRun[] | undefined;
  /** Steps of scripted destinations, by host or `host/path`. */
  readonly destinations?: Readonly<Record<string, readonly Step[]>> | undefined;
  /** Messages that are published now, within the limits of the account. */
  readonly messages?: readonly SeededPublish[] | undefined;
}

export interface SeedResult {
  /** Ids of the dead letters, then of the failed runs, in the given order. */
  readonly dlqIds: readonly string[];
  readonly indexIds: readonly string[];
  /** Ids of the published messages and of the triggered runs. A message to a group has one for each endpoint. */
  readonly messageIds: readonly string[];
}

export interface SeededUrlGroup {
  readonly name: string;
  readonly endpoints: readonly { readonly url: string; readonly name?: string | undefined }[];
}

export interface SeededFlowControlKey {
  readonly key: string;
  readonly paused?: boolean | undefined;
  /** Pinned limits, which no message changes. */
  readonly parallelism?: number | undefined;
  readonly rate?: { readonly max: number; readonly periodMs: number } | undefined;
}

export interface SeededIndex {
  readonly id?: string | undefined;
  readonly name: string;
  readonly region?: 'eu-west-1' | 'us-central1' | undefined;
  readonly type?: 'free' | 'payg' | 'fixed' | undefined;
}

/** A message that failed after three retries. */
export interface SeededFailure {
  readonly url: string;
  /** Number of equal failures. Default 1. */
  readonly count?: number | undefined;
  /** Default `{}`. */
  readonly body?: string | undefined;
  readonly labels?: readonly string[] | undefined;
  readonly flowControlKey?: string | undefined;
  /** Status of the failed attempts. Default: no response. */
  readonly status?: number | undefined;
  readonly responseBody?: string | undefined;
  /** Age of the failure in milliseconds. Default 0. */
  readonly agoMs?: number | undefined;
}

export interface SeededFailedRun extends SeededFailure {
  /** State of the failure function. Default: none was called. One in progress is due in an hour. */
  readonly failureFunctionState?: DeadLetter['failureFunctionState'] | undefined;
}

export type PublishSetting =
  | 'method'
  | 'retries'
  | 'retryDelay'
  | 'delay'
  | 'notBefore'
  | 'timeout'
  | 'label'
  | 'flowControlKey'
  | 'flowControlValue'
  | 'callback'
  | 'failureCallback'
  | 'deduplicationId';

/** A publish. The settings are those of the service's headers, such as `delay: '30d'` for `Svc-Delay`. */
export interface SeededPublish extends Readonly<Partial<Record<PublishSetting, string | number | undefined>>> {
  /** URL, or name of a URL Group. */
  readonly destination: string;
  /** Number of equal messages. Default 1. */
  readonly count?: number | undefined;
  readonly body?: string | undefined;
  /** Headers for the destination. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Triggers a workflow run instead. Default false. */
  readonly workflow?: boolean | undefined;
}

export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A request to one of the APIs, with its response. */
export interface ApiRequest {
  /** Time of the response on the emulator's clock, in epoch milliseconds. */
  readonly at: number;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Absent when the request matches no operation. */
  readonly operation?: string | undefined;
  /** Headers by lower-case name; values of credentials are `[hidden]`. */
  readonly headers: RequestHeaders;
  readonly bodyBytes: number;
  /** Status of the response. */
  readonly status: number;
  /** True if a fault withheld the response. */
  readonly lost?: true;
}

/**
 * Starts an emulator of the service in this process.
 *
 * @throws {Error} if an option is invalid or the port is in use
 */
export type StartEmulator = (options?: EmulatorOptions) => Promise<Emulator>;
