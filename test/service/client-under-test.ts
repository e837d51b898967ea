/** A client over a real server on a loopback port, with its events recorded; ends with the test. */
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { ManagementApi, MessageApi, PublishRequest, TriggerRequest } from '#service/api.ts';
import type { Holds } from '#service/holds.ts';
import { loadUse } from '#service/kept-use.ts';
import { createClient } from '#service/create-client.ts';
import { operationNamed } from '#service/operations.ts';
import { readValues } from '#service/operation-values.ts';
import type { RawAnswer } from '#service/raw-calls.ts';
import type { RequestUseStore } from '#foundation/domain/request-use.ts';
import { wireSettings, type ClientSettings, type WireSettings } from '#service/settings.ts';
import { systemClock, type Clock } from '#foundation/platform/clock.ts';
import { EventBus, type OpsEvent } from '#foundation/events/events.ts';
import type { Random } from '#foundation/platform/random.ts';
import { Secret } from '#foundation/platform/secret.ts';
import { httpSink, type Answer, type HttpSink } from '../support/http-sink.ts';

export const TOKEN = 'canary-token-5f1c';
export const ACTION_TOKEN = 'canary-action-token-77aa';
export const PASSWORD = 'canary-password-0b2e';

const LIMITS: ClientSettings = {
  requestsPerSecond: 1_000,
  requestsPerDay: 1_000,
  timeout: 5_000,
  maxResponseBytes: 1_048_576,
};

export interface UnderTest {
  readonly sink: HttpSink;
  readonly message: MessageApi;
  readonly management: ManagementApi;
  /** Sends any operation by its name. */
  readonly send: (name: string, given: Readonly<Record<string, unknown>>) => Promise<RawAnswer>;
  readonly usage: (api: 'message' | 'management') => { usedToday: number; allowedPerDay: number };
  readonly close: () => Promise<void>;
  readonly events: readonly OpsEvent[];
  /** Returns the events of one type, in order. */
  readonly eventsOf: <T extends OpsEvent['type']>(type: T) => readonly Extract<OpsEvent, { readonly type: T }>[];
}

export interface UnderTestOptions {
  readonly answer?: Answer;
  /** Replaces the sink's URL. */
  readonly url?: string;
  /** Appended to the base URL. */
  readonly prefix?: string;
  readonly limits?: Partial<ClientSettings>;
  readonly wire?: Partial<WireSettings>;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly token?: Secret;
  readonly actionToken?: Secret;
  readonly requestUse?: RequestUseStore;
  readonly mayStart?: (timeoutMs: number) => string | undefined;
  readonly holds?: Holds;
}

export async function clientUnderTest(options: UnderTestOptions = {}): Promise<UnderTest> {
  const sink = await httpSink(options.answer);
  const events: OpsEvent[] = [];
  const bus = new EventBus();
  bus.subscribe((event) => events.push(event));
  const url = (options.url ?? sink.url) + (options.prefix ?? '');
  const client = createClient(
    {
      account: 'production',
      messageApi: {
        url,
        token: options.token ?? Secret.of(TOKEN),
        ...(options.actionToken && { actionToken: options.actionToken }),
      },
      managementApi: { url, username: 'owner@example.com', password: Secret.of(PASSWORD) },
      wire: wireSettings.parse(options.wire ?? {}),
      limits: { ...LIMITS, ...options.limits },
    },
    // Without jitter a retry starts at once, and no test waits for one.
    {
      clock: options.clock ?? systemClock,
      events: bus,
      random: options.random ?? (() => 0),
      ...(options.requestUse && { requestUse: await loadUse(options.requestUse) }),
      ...(options.mayStart && { mayStart: options.mayStart }),
      ...(options.holds && { holds: options.holds }),
    },
  );
  const close = async (): Promise<void> => client[Symbol.asyncDispose]();
  onTestFinished(close);
  return {
    sink,
    message: client.message!,
    management: client.management!,
    async send(name, given) {
      const operation = operationNamed(name)!;
      return client.raw.send(operation, readValues(operation, given), call);
    },
    usage: (api) => client.usage(api),
    close,
    events,
    eventsOf: (type) => events.filter((event) => event.type === type) as never,
  };
}

const DELIVERY = { body: 'x', forward: {}, retries: 0, label: ['billing'] } as const;
export const PUBLISH: PublishRequest = { destination: 'g', ...DELIVERY };
export const TRIGGER: TriggerRequest = { workflowUrl: 'http://a/', ...DELIVERY };

/** Options of calls that are never aborted. */
export const call = { signal: new AbortController().signal };

export function fixture(name: string): string {
  return readFileSync(join(import.meta.dirname, `../fixtures/wire/${name}.json`), 'utf8');
}

/** Builds a response with JSON text. */
export function json(text: string, status = 200, headers: Record<string, string> = {}): Answer {
  return (_request, response: ServerResponse) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(text);
  };
}

/** Returns the error of a rejected call. */
export async function failureOf(work: Promise<unknown>): Promise<Error> {
  try {
    await work;
  } catch (error) {
    return error as Error;
  }
  throw new Error('expected a rejection');
}
