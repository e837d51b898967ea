/**
 * The embedded service: a real HTTP server with its own state, with both APIs on one address. It really delivers
 * messages, and its statistics result from these deliveries. Its time is the given clock, or its own clock that tests
 * move.
 */
import type { Clock } from '#foundation/platform/clock.ts';
import type { AccountBook } from './state/account-book.ts';
import type { AccountState } from './state/account-state.ts';
import { Activity } from './control/activity.ts';
import { createAdvance, NO_OWN_TIME, type Advance } from './control/advance.ts';
import { EmulatorControl, type ControlOptions } from './control/control.ts';
import { DeliveryFaults } from './delivery/delivery-faults.ts';
import type { Engine } from './delivery/engine.ts';
import type { InProgress } from './delivery/in-progress.ts';
import type { RunOptions } from './emulator-options.ts';
import { pageRoutes } from './pages/page-routes.ts';
import type { FactListener } from './statistics/facts.ts';
import { Faults } from './http/faults.ts';
import type { Indexes } from './statistics/indexes.ts';
import { PLAN_LIMITS } from './state/limits.ts';
import type { Message } from './state/message.ts';
import { failedRuns, viewOf, type MessageView } from './state/message-view.ts';
import { Rest } from './control/rest.ts';
import { RequestRecorder } from './control/request-recorder.ts';
import { createScriptedDestinations, type ScriptedDestinations } from './control/scripted-destinations.ts';
import { CONTROL_PATH, type Route } from './http/route.ts';
import { startServer, type ServerOptions } from './http/server.ts';
import type { ServiceFrame } from './service-state.ts';
import { createService, type Service } from './service.ts';
import { SigningKeyRing, type AccountSigningKeys } from './state/signing-keys.ts';
import type { Statistics } from './statistics/statistics.ts';
import { SteerableClock } from './control/steerable-clock.ts';
import { DataFolderError } from './store/store-file.ts';
import { Store } from './store/store.ts';
import { DEFAULT_SWITCHES } from './state/switches.ts';

export interface RunningEmulator extends AsyncDisposable {
  /** Base URL of both APIs, `http://HOST:PORT`. */
  readonly url: string;
  /** Names of the operations of both APIs. */
  readonly operations: readonly string[];
  readonly accounts: AccountBook;
  readonly statistics: Statistics;
  readonly indexes: Indexes;
  /** Hosts with a script. A script takes precedence over `hosts`. */
  readonly destinations: ScriptedDestinations;
  onFact(listener: FactListener): Disposable;
  /** Returns all messages that have not ended, and ended messages while the log has them; oldest first. */
  messages(accountId: string): readonly MessageView[];
  /** Returns all records of the account. A reset replaces them. */
  state(accountId: string): AccountState;
  /** Returns the oldest failure first. */
  workflowDlq(accountId: string): ReturnType<typeof failedRuns>;
  /** Returns the signing keys of the account: the current key, and the one after `rollSigningKeys`. */
  signingKeys(accountId: string): AccountSigningKeys;
  /** Makes the next key the current one, and generates a new next key. */
  rollSigningKeys(accountId: string): AccountSigningKeys;
  /** Cancels a message, which no operation of the interface does. Returns false for an unknown or ended message. */
  cancelMessage(accountId: string, messageId: string): boolean;
  /**
   * Resolves when all remaining work waits for the clock or for a request. Only deliveries that a scripted destination
   * holds are then in progress.
   */
  idle(): Promise<void>;
  /**
   * Moves the service's time by `ms`, from one timer to the next. Deliveries that become due are really made. Time
   * waits for their responses, so that a move causes no timeout. It waits at most `patienceMs` of real time (default 5
   * s), so that a delivery that hangs reaches its timeout.
   *
   * @throws {Error} when the service has no time of its own (`time` or `control`)
   */
  readonly advance: Advance;
  /**
   * In-process form of the control API.
   *
   * @throws {Error} when the service has no time of its own (`time` or `control`)
   */
  readonly control: EmulatorControl;
  /** Aborts deliveries in progress. Idempotent. */
  stop(): Promise<void>;
}

const RECORDED_REQUESTS = 1_000;
const DEFAULT_QUIET_MS = 20;

/**
 * @throws {Error} when the address is in use, or accounts contradict each other
 * @throws {DataFolderError} when the data folder is unusable
 */
export async function runEmulator(options: RunOptions): Promise<RunningEmulator> {
  const { random } = options;
  const ownTime = ownTimeOf(options);
  const clock = ownTime ?? options.clock;

  const listeners = new Set<FactListener>();
  const onError = options.onError ?? (() => undefined);
  const switches = { ...DEFAULT_SWITCHES, ...options.switches };
  const onFact: FactListener = (accountId, fact) => {
    for (const listener of listeners) listener(accountId, fact);
  };
  const signingKeys = new SigningKeyRing(options.accounts);

  const destinations = createScriptedDestinations({
    clock,
    headerPrefix: options.headerPrefix,
    onHeld: () => service.engine.inProgress.lookAgain(),
  });
  const ports = portsOf(destinations, options.hosts ?? {});

  const store = options.dataFolder === undefined ? undefined : new Store(options.dataFolder, onError);
  using opening = new DisposableStack();
  opening.defer(() => store?.close());

  const shared = { switches, signingKeys, deliveryFaults: new DeliveryFaults('delivery-fault', random) };
  const faults = new Faults({ clock: options.clock, now: () => clock.now(), random });
  const requests = new RequestRecorder(RECORDED_REQUESTS);
  const activity = new Activity(options.clock, options.quietMs ?? DEFAULT_QUIET_MS);
  const rebuild = async (): Promise<void> => {
    const before = service;
    destinations.clear();
    service = createService(frame);
    await before.engine.stop();
  };
  const steered = { ...shared, options, ownTime, activity, destinations, faults, requests };
  const { advance, rest, control } = createControl({ ...steered, service: () => service, rebuild });

  const extraRoutes = [
    ...(control !== undefined && options.control === true ? await controlApi(control, destinations) : []),
    ...(options.pages === true ? pageRoutes({ clock, service: () => service, switches, control }) : []),
  ];
  const onAttemptEnd = ({ url }: Message): void => {
    if (!destinations.knows(new URL(url).hostname)) activity.happened();
  };
  const frame = { options, store, clock, ...shared, ...ports, extraRoutes, onFact, onAttemptEnd, onError };
  let service = createService(frame);
  const server = await startServer({
    clock,
    realClock: options.clock,
    listen: options.listen,
    management: options.management,
    service: () => service,
    handle: (call) => faults.handle(call),
    onRequest: requestsTo(activity),
    ...(options.control === true && { onAnswer: recordIn(requests, clock) }),
    maxBodyBytes: options.maxBodyBytes ?? PLAN_LIMITS.fixed_100m.max_message_size,
    onError,
  });
  opening.move();

  service.begin();
  if (options.time === 'skip') rest?.skip();

  // Ends requests first, so that none creates work while deliveries are aborted.
  const stopOnce = async (): Promise<void> => {
    ownTime?.close();
    rest?.close();
    faults.stop();
    await server.close();
    await service.engine.stop();
    await destinations.stop();
    store?.close();
  };
  let stopping: Promise<void> | undefined;
  return emulatorOf({
    url: server.url,
    service: () => service,
    clock,
    listeners,
    destinations,
    signingKeys,
    advance,
    control,
    stop: () => (stopping ??= stopOnce()),
  });
}

/** Loads the control API when it is served: its schemas take 10 MB. */
async function controlApi(control: EmulatorControl, destinations: ScriptedDestinations): Promise<readonly Route[]> {
  const { controlRoutes } = await import('./control/control-routes.ts');
  return controlRoutes(control, destinations);
}

type ControlParts = Omit<ControlOptions, 'clock' | 'random' | 'rest' | 'advance' | 'destinations'> & {
  readonly options: RunOptions;
  readonly ownTime: SteerableClock | undefined;
  readonly destinations: ScriptedDestinations;
};

/** Creates what moves the service's time, and the control, which needs a time of its own. */
function createControl({ options, ownTime, ...parts }: ControlParts) {
  const { activity, destinations, service } = parts;
  const engine = (): Engine => service().engine;
  const inProgress = (): InProgress => engine().inProgress;
  const advance = createAdvance({ ownTime, realTime: options.clock, inProgress, destinations });
  if (ownTime === undefined) return { advance };
  const rest = new Rest({ clock: ownTime, realTime: options.clock, activity, engine, destinations });
  const control = new EmulatorControl({ ...parts, clock: ownTime, random: options.random, rest, advance });
  return { advance, rest, control };
}

/** Reads change nothing, so they may go on while time skips. */
function requestsTo(activity: Activity): NonNullable<ServerOptions['onRequest']> {
  return ({ method = '', url = '' }) =>
    method === 'GET' || url.startsWith(CONTROL_PATH) ? undefined : activity.begin(`${method} ${url.slice(0, 200)}`);
}

function recordIn(requests: RequestRecorder, clock: Clock): NonNullable<ServerOptions['onAnswer']> {
  return ({ target, response: { status, sending }, ...request }) => {
    const lost = sending === 'lost' && ({ lost: true } as const);
    requests.record({ at: clock.now(), path: target, ...request, status, ...lost });
  };
}

interface RunningParts extends Pick<RunningEmulator, 'url' | 'destinations' | 'advance' | 'stop'> {
  readonly service: () => Service;
  readonly clock: Clock;
  readonly listeners: Set<FactListener>;
  readonly signingKeys: SigningKeyRing;
  readonly control: EmulatorControl | undefined;
}

/** Returns what the holder of a running emulator sees. A reset exchanges the service behind it. */
function emulatorOf({ url, service, clock, listeners, ...parts }: RunningParts): RunningEmulator {
  const { destinations, signingKeys, advance, control, stop } = parts;
  return {
    url,
    operations: service().operations,
    get accounts() {
      return service().accounts;
    },
    get statistics() {
      return service().statistics;
    },
    get indexes() {
      return service().indexes;
    },
    destinations,
    onFact: (listener) => {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    messages: (accountId) => [...(service().states.get(accountId)?.messages.values() ?? [])].map(viewOf),
    state: (accountId) => service().states.get(accountId)!,
    workflowDlq: (accountId) => failedRuns(service().states.get(accountId)?.workflowDlq, clock.now()),
    signingKeys: (accountId) => signingKeys.of(accountId),
    rollSigningKeys: (accountId) => signingKeys.roll(accountId),
    cancelMessage: (accountId, messageId) => {
      const message = service().states.get(accountId)?.messages.get(messageId);
      return message !== undefined && service().engine.cancel(message);
    },
    idle: () => service().engine.inProgress.idleBut((attempt) => destinations.holds(attempt)),
    advance,
    get control() {
      if (control === undefined) throw new Error(NO_OWN_TIME);
      return control;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** @throws {DataFolderError} when time can be moved and a data folder is given */
function ownTimeOf({ clock, control, dataFolder, startAt, time }: RunOptions): SteerableClock | undefined {
  const mode = time ?? (control === true ? 'real' : undefined);
  if (mode === undefined) return undefined;
  if (dataFolder !== undefined) {
    throw new DataFolderError(
      'a service with movable time cannot use a data folder: its records could be in the future of its next start. Omit the data folder, or `time` and `control`.',
    );
  }
  return new SteerableClock({ base: clock, mode: mode === 'real' ? 'real' : 'virtual', startAt });
}

/** Returns which hosts live on a loopback port, and where: those with a script, then those of `hosts`. */
function portsOf(
  destinations: ScriptedDestinations,
  hosts: Readonly<Record<string, number>>,
): Pick<ServiceFrame, 'portOf' | 'isMapped'> {
  const fixed = new Map(Object.entries(hosts).map(([host, port]) => [host.toLowerCase(), port]));
  return {
    portOf: (url) => destinations.hosts(url) ?? fixed.get(url.hostname),
    isMapped: ({ hostname }) => destinations.knows(hostname) || fixed.has(hostname),
  };
}
