/** Canaries over a service that the test plays, a store in memory, and a clock that it moves. */
import { onTestFinished } from 'vitest';
import { EventBus, type OpsEvent } from '#foundation/events/events.ts';
import type { LogEntry, MessageState } from '#foundation/domain/log-entry.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { Scheduler } from '#foundation/scheduler/scheduler.ts';
import { CanaryBook } from '#observe/canary/book.ts';
import { startCanaries } from '#observe/canary/canaries.ts';
import { CanaryInbox, type InboxShare } from '#observe/canary/inbox.ts';
import { bodyOf, codeOf, CODE_HEADER } from '#observe/canary/message.ts';
import { canariesSettings } from '#observe/canary/settings.ts';
import type { CanaryStore } from '#observe/canary/store.ts';
import type { LogQuery, MessageApi, PublishRequest } from '#service/api.ts';
import { createCanaryStore } from '#storage/canary-store.ts';
import { openMemoryStore } from '#storage/memory-store.ts';

export const START = Date.UTC(2026, 10, 20, 2);
export const PLACE = { account: 'production', canary: 'home' };
const URL = 'https://hooks.example.com/hooks/canary/production/home';

export interface Published {
  readonly request: PublishRequest;
  readonly messageId: string;
}

/** The service, as far as canaries use it. Members can be replaced. */
export function playedService() {
  const published: Published[] = [];
  const log: LogEntry[] = [];
  const entry = ({ messageId, request }: Published, state: MessageState, more: Partial<LogEntry> = {}): void => {
    log.push({ time: START, messageId, state, labels: request.label, url: URL, ...more });
  };
  const api = {
    publish: async (request: PublishRequest) => {
      const message = { request, messageId: `msg_${published.length + 1}` };
      published.push(message);
      entry(message, 'CREATED');
      return [{ messageId: message.messageId }];
    },
    listLogs: async ({ messageId, label, url }: LogQuery) => {
      const value = log.filter(
        (one) =>
          (messageId === undefined || one.messageId === messageId) &&
          (label === undefined || one.labels.includes(label[0])) &&
          (url === undefined || one.url === url),
      );
      return { value, dropped: 0 };
    },
    listUrlGroups: async () => ({ value: [{ name: 'group', endpoints: [{ url: URL }] }], dropped: 0 }),
    getFlowControl: async (flowControlKey: string) => ({
      value: { flowControlKey, waitListSize: 0, parallelismMax: 3, rateMax: 7, ratePeriod: 60 },
      dropped: 0,
    }),
  };
  return { published, log, entry, api };
}

export interface WorldOptions {
  readonly settings?: object;
  readonly store?: CanaryStore;
  readonly clock?: ManualClock;
  readonly service?: ReturnType<typeof playedService>;
  /** Place among several replicas. */
  readonly share?: InboxShare;
}

/** Starts canaries. Called with the store of another world, it is a restart. */
export async function canaryWorld(options: WorldOptions = {}) {
  const clock = options.clock ?? new ManualClock(START);
  const events = new EventBus();
  const said: OpsEvent[] = [];
  events.subscribe((event) => void said.push(event));
  const store = options.store ?? createCanaryStore(openMemoryStore('here'));
  const service = options.service ?? playedService();
  const [settings] = canariesSettings.parse([{ name: 'home', every: '1m', timeout: '20s', ...options.settings }]);
  const book = await CanaryBook.open({ store, clock, events });
  const inbox = new CanaryInbox(book, options.share);
  const scheduler = new Scheduler({ clock, events, random: () => 0 });
  const probes = { answer: true };
  const running = startCanaries({
    targets: [
      {
        ...PLACE,
        settings: settings!,
        url: URL,
        callbackUrl: `${URL}/callback`,
        api: service.api as unknown as MessageApi,
        apiUrl: 'http://127.0.0.1:8080',
        book,
        inbox,
      },
    ],
    scheduler,
    events,
    clock,
    http: {
      async send(_url, { headers }) {
        if (!probes.answer) throw new Error('connect ECONNREFUSED');
        const code = inbox.recognize(PLACE, String(headers[CODE_HEADER]));
        if (code?.kind === 'probe') await code.take();
        return { status: 202, contentType: '', body: Buffer.alloc(0) };
      },
      [Symbol.dispose]: () => undefined,
    },
    answers: { othersAnswer: () => true, isKnownService: () => true },
  });
  scheduler.start();
  await clock.advance(0);

  const newest = () => book.rounds(PLACE).at(-1)!;
  /** Delivers the newest message, as the service does. */
  async function arrive(of = newest(), alter: (body: Buffer) => Buffer = (body) => body): Promise<void> {
    const { nonce, bytes } = of.record;
    const code = inbox.recognize(PLACE, codeOf(book.key, 'message', nonce, PLACE));
    if (code?.kind !== 'message') return;
    const body = alter(bodyOf(nonce, bytes));
    (await code.take({ altered: !body.equals(code.body) }))();
  }
  async function call(of = newest(), status = 202): Promise<void> {
    const code = inbox.recognize(PLACE, codeOf(book.key, 'callback', of.record.nonce, PLACE));
    if (code?.kind === 'callback') await code.take({ status });
  }
  let stopped: Promise<void> | undefined;
  async function stopNow(): Promise<void> {
    await running.stop();
    const ended = scheduler.stop();
    await clock.advance(20_000);
    await ended;
  }
  const stop = () => (stopped ??= stopNow());
  onTestFinished(stop);
  return {
    clock,
    said,
    store,
    service,
    book,
    inbox,
    newest,
    arrive,
    call,
    probes,
    state: () => running.states()[0]!,
    said1: (type: OpsEvent['type']) => said.filter((event) => event.type === type),
    /** The message arrives, its callback too, and the log reports it. */
    async succeed() {
      await arrive();
      await call();
      service.entry(service.published.at(-1)!, 'DELIVERED', { responseStatus: 202 });
      await clock.advance(2_000);
    },
    /** Ends the canaries before the end of the test. */
    stop,
  };
}
