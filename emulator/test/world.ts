/** An embedded service for one test, on a clock that the test moves, with real servers as destinations. */
import { once } from 'node:events';
import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import type { RunOptions } from '#emulator/emulator-options.ts';
import { runEmulator, type RunningEmulator } from '#emulator/emulator.ts';
import type { Fact } from '#emulator/statistics/facts.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { httpSink, type Answer } from '../../test/support/http-sink.ts';
import { documentIn, type OpenApiDocument } from '../../test/support/interface-document.ts';
import { DocumentedAnswers } from '../../test/support/openapi-answers.ts';

export const ACCOUNT = 'acc-1';
export const TOKEN = 'token-1';
export const READ_ONLY_TOKEN = 'reader-1';
export const MANAGEMENT = { username: 'ops@example.com', password: 'pass:word' };
/** The header with the credentials of the management API. */
export const MANAGER = { Authorization: `Basic ${btoa('ops@example.com:pass:word')}` };
export const START = Date.UTC(2026, 10, 20, 12);

/** Documents by spelling. Their schemas are compiled once. */
const DOCUMENTS = new Map<string, OpenApiDocument>();

interface CallOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

interface CallResult<T> {
  readonly status: number;
  readonly json: T;
  readonly headers: IncomingHttpHeaders;
}

type Call = <T = Record<string, unknown>>(
  method: string,
  path: string,
  options?: CallOptions,
) => Promise<CallResult<T>>;

export interface World {
  readonly clock: ManualClock;
  readonly emulator: RunningEmulator;
  readonly facts: readonly Fact[];
  /**
   * Sends a request with the account's token. Returns the JSON of the response; undefined for an empty body. Throws if
   * the OpenAPI document does not describe the response, unless a fault is active.
   */
  readonly call: Call;
  /** Parts of the OpenAPI document that the calls have shown. */
  readonly documented: DocumentedAnswers;
  /** Moves time from one timer to the next until no timer is left, or none within `limitMs`. */
  drain(limitMs?: number): Promise<void>;
}

/** Starts a service that stops with the test. The test fails if the emulator failed on a request. */
export async function world(options: Partial<RunOptions> = {}): Promise<World> {
  const clock = new ManualClock(START);
  const errors: unknown[] = [];
  const emulator = await runEmulator({
    clock,
    random: seededRandom(7),
    listen: { host: '127.0.0.1', port: 0 },
    accounts: [{ id: ACCOUNT, token: TOKEN, readOnlyToken: READ_ONLY_TOKEN }],
    management: MANAGEMENT,
    // While the clock stops, a second never ends, so its limit would block tests. Tests of limits enable them.
    enforceLimits: false,
    onError: (error) => void errors.push(error),
    ...options,
  });
  const { headerPrefix = 'Svc', product = 'msgsvc' } = options;
  const spelling = `${headerPrefix} ${product}`;
  const document = DOCUMENTS.get(spelling) ?? documentIn({ headerPrefix, product });
  DOCUMENTS.set(spelling, document);
  const documented = new DocumentedAnswers(document);
  const ownTime = options.control === true || options.time !== undefined;
  const facts: Fact[] = [];
  emulator.onFact((_account, fact) => void facts.push(fact));
  onTestFinished(async () => {
    await emulator.stop();
    if (errors.length > 0) throw new AggregateError(errors, 'the emulator failed on a request');
  });
  return {
    clock,
    emulator,
    facts,
    documented,
    call: async (method, path, call = {}) => {
      const { status, headers, body } = await send(emulator.url, method, path, call);
      const faulty = ownTime && emulator.control.faults.list().length > 0;
      const wrong = faulty ? [] : documented.problems({ method, target: path, status, headers, body });
      if (wrong.length > 0) throw new Error(`the OpenAPI document does not tell of this: ${wrong.join('; ')}`);
      return { status, headers, json: parsed(body) };
    },
    async drain(limitMs = Infinity) {
      const end = clock.monotonic() + limitMs;
      for (;;) {
        await emulator.idle();
        const next = clock.nextIn;
        if (next === undefined || clock.monotonic() + next > end) return;
        await clock.advance(next);
      }
    },
  };
}

/** Starts a destination, which responds as given, and a service. */
export async function worldWithSink(answer?: Answer) {
  return { sink: await httpSink(answer), service: await world() };
}

/** Parses JSON of any type: the test knows the type of its request. */
function parsed(body: string): never {
  return (body === '' ? undefined : JSON.parse(body)) as never;
}

/** Sends the path unchanged. `fetch` would resolve its dots. */
async function send(base: string, method: string, path: string, { headers, body }: CallOptions) {
  const outgoing = request(base, { method, path, headers: { Authorization: `Bearer ${TOKEN}`, ...headers } });
  outgoing.end(body);
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  return { status: answer.statusCode!, headers: answer.headers, body: await text(answer) };
}

/** An entry of `GET /v2/logs`, with the fields that tests read. */
export interface WireLogEntry {
  readonly time: number;
  readonly state?: string;
  readonly messageId: string;
  readonly url: string;
  readonly error?: string;
  readonly responseStatus?: number;
  readonly nextDeliveryTime?: number;
  readonly labels?: readonly string[];
}

export interface LogPage {
  readonly cursor?: string;
  readonly logs: readonly WireLogEntry[];
}

/** Returns every entry that a query matches, page by page. */
export async function allLogs(service: World, query = '', count = 100): Promise<readonly WireLogEntry[]> {
  const entries: WireLogEntry[] = [];
  let cursor: string | undefined = '';
  while (cursor !== undefined) {
    const page: { readonly json: LogPage } = await service.call(
      'GET',
      `/v2/logs?count=${count}&cursor=${cursor}&${query}`,
    );
    entries.push(...page.json.logs);
    cursor = page.json.cursor;
  }
  return entries;
}

/** Returns the states of one message in order. */
export async function statesOf(service: World, messageId: string): Promise<readonly (string | undefined)[]> {
  const entries = await allLogs(service, `messageId=${messageId}`);
  return entries.toReversed().map((entry) => entry.state);
}
