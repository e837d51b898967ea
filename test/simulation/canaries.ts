/** Canaries of the daemon, in every third history: their records and verdicts against the service's own messages. */
import type { Message } from '#emulator/state/message.ts';
import type { CanaryVerdict } from '#foundation/domain/canary.ts';
import type { RoundRecord } from '#observe/canary/store.ts';
import type { Exposition } from '../support/exposition.ts';
import { canariesOf } from './canary-routes.ts';
import { isOfCanary, type Request } from './forms.ts';
import { EPOCH, type Loop } from './loop.ts';
import { ACCOUNT, type SimService } from './service.ts';
import type { Books } from './subject.ts';
import { none, Violation } from './violation.ts';

const MINUTE = 60_000;
/** Time without faults after which every message gets the verdict `ok`. Less than the rest at the end of a history. */
const CALM_MS = 35 * MINUTE;
/** Maximum time from a message to the next one, and from a message to its verdict. */
const LONGEST_EVERY_MS = 6 * MINUTE;
const LONGEST_VERDICT_MS = 4 * MINUTE;
/** Verdicts that a message can have which was delivered and called back in time, if its log could not be read well. */
const OF_LOG: ReadonlySet<CanaryVerdict> = new Set(['ok', 'service_reporting', 'account', 'unknown']);

/** A message of a canary, with what the service knows about it. */
interface Told {
  readonly round: RoundRecord;
  readonly messages: readonly Message[];
  readonly callbacks: readonly Message[];
  /** True if another replica than the owner has stored an arrival or a callback, and the owner has not read it yet. */
  readonly isWaiting: boolean;
}

export class Canaries {
  readonly #loop: Loop;
  readonly #service: SimService;
  /** Last known record of each message: the daemon forgets the oldest ones. */
  readonly #rounds = new Map<string, RoundRecord>();

  constructor(loop: Loop, service: SimService) {
    this.#loop = loop;
    this.#service = service;
  }

  /** Checks a request that the daemon is about to send. */
  sends(books: Books, request: Request): void {
    if (!isOfCanary(request)) return;
    const labels = String(request.headers['svc-label']).split(',');
    const known = recordsOf(books).some(({ id }) => labels.includes(`opsd-canary-${id}`));
    none('a message of a canary is recorded before it is sent', known ? [] : [request.path, labels]);
  }

  /** Takes over the records. No later one has less than an earlier one. */
  look(books: Books): void {
    for (const record of recordsOf(books)) {
      const before = this.#rounds.get(record.id);
      if (before !== undefined && factsOf(before).some((count, at) => count > factsOf(record)[at]!))
        throw new Violation('no fact about a canary is lost', { before, record });
      this.#rounds.set(record.id, record);
    }
  }

  /** Checks what must hold after a time without faults. */
  atRest(books: Books, metrics: Exposition): void {
    this.look(books);
    const now = EPOCH + this.#loop.time;
    const all = [...this.#rounds.values()];
    none(
      'every message of a canary gets its verdict',
      all.filter(({ startedAt, result }) => startedAt < now - LONGEST_VERDICT_MS && result === undefined),
    );
    none(
      'without faults, every canary succeeds',
      all.filter(({ startedAt, result }) => startedAt > now - CALM_MS && result && result.verdict !== 'ok'),
    );
    const names = canariesOf(this.#loop) === undefined ? [] : ['home', 'lane'];
    const isRecent = (ms: number | undefined): boolean => ms !== undefined && ms > now - LONGEST_EVERY_MS;
    none(
      'every canary continues',
      names.filter((name) => !all.some(({ canary, startedAt }) => canary === name && isRecent(startedAt))),
    );
    const isHealthy = (canary: string): boolean => {
      const success = metrics.value('msgsvc_canary_last_success_timestamp_seconds', { canary });
      const verdicts = metrics.all('msgsvc_canary_verdict_info', { canary }).filter(({ value }) => value === 1);
      const isOk = verdicts.length === 1 && verdicts[0]!.labels['verdict'] === 'ok';
      return isOk && isRecent(success && 1_000 * success + LONGEST_VERDICT_MS);
    };
    none(
      'at rest, every canary is healthy',
      names.filter((name) => !isHealthy(name)),
    );
    for (const outcome of ['altered', 'duplicate'])
      none(
        'the service changes and repeats no message',
        metrics.sum('msgsvc_canary_messages_total', { outcome }) > 0 ? [outcome] : [],
      );
  }

  /**
   * Compares all records with the service's messages after the end.
   *
   * @param arrivals facts that the owner has not read
   */
  check(books: Books, arrivals: readonly string[]): void {
    this.look(books);
    const own = [...this.#service.emulator.state(ACCOUNT).messages.values()].map((message) => ({
      message,
      code: message.delivery.headers.find(([name]) => name.toLowerCase() === 'opsd-canary')?.[1],
    }));
    const byCode = Map.groupBy(
      own.filter(({ code }) => code !== undefined),
      ({ code }) => code!.slice(0, 24),
    );
    const of = (purpose: string, { nonce }: RoundRecord): readonly Message[] =>
      (byCode.get(`${purpose}.${nonce}`) ?? []).map(({ message }) => message);
    const all = [...this.#rounds.values()].map((round) => ({
      round,
      messages: of('m', round),
      callbacks: of('c', round),
      isWaiting: arrivals.some((fact) => fact.includes(round.nonce)),
    }));
    const known = all.reduce((sum, { messages }) => sum + messages.length, 0);
    none('every message of a canary has a record', own.filter(({ code }) => code?.startsWith('m.')).slice(known));
    for (const [invariant, isBroken] of Object.entries(BROKEN))
      none(
        invariant,
        all.filter(isBroken).map(({ round, messages }) => ({ round, messages: messages.map(shown) })),
      );
    if (this.#loop.faults.rate === 0)
      none(
        'without faults, every canary succeeds',
        all.filter(({ round: { result } }) => result && result.verdict !== 'ok'),
      );
  }
}

/** Conditions that no message of a canary meets. */
const BROKEN: Readonly<Record<string, (told: Told) => boolean>> = {
  'a message of a canary is published once': ({ messages }) => messages.length > 1,
  'a rejected message does not exist': ({ round: { publish }, messages }) =>
    publish !== undefined && 'failure' in publish && publish.isRejected && messages.length > 0,
  'the id of a message is that of the service': ({ round: { publish }, messages }) =>
    publish !== undefined && 'messageId' in publish && publish.messageId !== messages[0]?.id,
  'every delivery of a canary is recorded': ({ round, messages, isWaiting }) =>
    messages.some(isDelivered) && round.arrivals.length === 0 && !isWaiting,
  'every callback of a canary is recorded': ({ round, callbacks, isWaiting }) =>
    callbacks.some(isDelivered) && round.callback === undefined && !isWaiting,
  'an arrival is an attempt of the service': ({ round, messages }) =>
    round.arrivals.length > (messages[0]?.attempts ?? 0),
  'the body of a message arrives as it was sent': ({ round }) => round.arrivals.some(({ altered }) => altered),
  'a success was delivered, called back and in time': (told) =>
    told.round.result?.verdict === 'ok' && !(told.messages.some(isDelivered) && isInTime(told) && isCalled(told)),
  'a success is known to be delivered, called back and in time': ({ round: { result, arrivals, callback, route } }) => {
    const facts = [arrivals[0], ...(route === 'workflow' ? [] : [callback])];
    return result?.verdict === 'ok' && facts.some((fact) => !(fact && fact.afterMs <= result.afterMs));
  },
  'no one is blamed for a success': (told) => {
    const { publish, result } = told.round;
    const isAccepted = publish !== undefined && !('failure' in publish);
    const isGood = isAccepted && told.messages.some(isDelivered) && isInTime(told) && isReported(told);
    return isGood && result !== undefined && !OF_LOG.has(result.verdict);
  },
  'a message that arrived is not missed': ({ round: { result, arrivals } }) =>
    arrivals[0] !== undefined &&
    result !== undefined &&
    arrivals[0].afterMs < result.afterMs - 1_000 &&
    /did not arrive|no attempt|no entry/.test(result.reason),
};

const isDelivered = ({ state }: Message): boolean => state === 'DELIVERED';
/** The response to a callback can be lost. A workflow run has none. */
const isCalled = ({ round: { route }, callbacks }: Told): boolean =>
  route === 'workflow' || callbacks.some(({ attempts }) => attempts > 0);
const isReported = ({ round: { route }, callbacks }: Told): boolean =>
  route === 'workflow' || callbacks.some(isDelivered);
const isInTime = ({ round: { arrivals, timeoutMs } }: Told): boolean => (arrivals[0]?.afterMs ?? Infinity) <= timeoutMs;
const shown = ({ id, state, attempts }: Message) => ({ id, state, attempts });

function recordsOf(books: Books): readonly RoundRecord[] {
  return books
    .prepare('SELECT record FROM canary_rounds')
    .all()
    .map(({ record }) => JSON.parse(String(record)) as RoundRecord);
}

/** Returns how often a record has each fact. */
function factsOf({ publish, arrivals, callback, result }: RoundRecord): readonly number[] {
  return [arrivals.length, ...[publish, callback, result].map((fact) => (fact === undefined ? 0 : 1))];
}
