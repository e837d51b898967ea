/**
 * A message with low memory cost. After its end, its delivery settings (body, headers, options) are bytes on a shelf,
 * and are parsed at each read.
 */
import { readDelivery, writeDelivery } from './message-record.ts';
import { isTerminal, type Delivery, type Message, type Outcome, type State, type WorkflowRunRef } from './message.ts';
import type { Shelves } from './shelf.ts';

/** Settings that filters read. Of an ended message, they need not be parsed. */
type Filtered = Pick<Delivery, 'labels' | 'callerIp'> & { readonly flowControl?: Delivery['flowControl'] | undefined };

export function filteredOf(message: Message): Filtered {
  return message instanceof KeptMessage ? message.filtered : message.delivery;
}

/** Every field exists from the start: objects of one shape are small. */
export class KeptMessage implements Message {
  readonly filtered: Filtered;
  readonly id: string;
  readonly accountId: string;
  readonly url: string;
  readonly createdAt: number;
  readonly notBefore: number;
  readonly topicName: string | undefined;
  readonly endpointName: string | undefined;
  scheduleId: string | undefined;
  queueName: string | undefined;
  readonly workflow: WorkflowRunRef | undefined;
  state: State;
  attempts: number;
  cancelRequested: boolean;
  lastEntry: number | undefined;
  lastOutcome: Outcome | undefined;
  dlqId: string | undefined;
  failureNotice: Message | undefined;
  #isKeptWithDead = false;
  /** The complete delivery, or the slab with its bytes. */
  #delivery: Delivery | Buffer;
  #at = 0;
  #split = 0;
  #end = 0;

  constructor(message: Message) {
    this.id = message.id;
    this.accountId = message.accountId;
    this.url = message.url;
    this.createdAt = message.createdAt;
    this.notBefore = message.notBefore;
    this.topicName = message.topicName;
    this.endpointName = message.endpointName;
    this.scheduleId = message.scheduleId;
    this.queueName = message.queueName;
    this.workflow = message.workflow;
    this.state = message.state;
    this.attempts = message.attempts;
    this.cancelRequested = message.cancelRequested;
    this.lastEntry = message.lastEntry;
    this.lastOutcome = message.lastOutcome;
    this.dlqId = message.dlqId;
    this.failureNotice = message.failureNotice;
    const { delivery } = message;
    this.#delivery = delivery;
    this.filtered = { labels: delivery.labels, callerIp: delivery.callerIp, flowControl: delivery.flowControl };
  }

  get delivery(): Delivery {
    const kept = this.#delivery;
    if (!Buffer.isBuffer(kept)) return kept;
    return readDelivery(kept.toString('utf8', this.#at, this.#split), kept.subarray(this.#split, this.#end));
  }

  /** Keeps the message as long as a dead letter, whatever its outcome. */
  keepWithDead(): void {
    this.#isKeptWithDead = true;
  }

  /** Moves the data to a shelf. Has no effect while the message may still be delivered, nor on a second call. */
  shelve({ ended, dead }: Shelves): void {
    const delivery = this.#delivery;
    if (!isTerminal(this.state) || Buffer.isBuffer(delivery)) return;
    const isDead = this.state === 'FAILED' || this.#isKeptWithDead;
    const shelf = isDead ? dead : ended;
    const outcome = this.lastOutcome;
    // The log removes its responses much sooner. One that stays among them would keep them all in memory.
    if (isDead && outcome !== undefined && outcome.body.length > 0) {
      this.lastOutcome = { ...outcome, body: dead.bytes(outcome.body) };
    }
    const { slab, at, split, end } = shelf.put(writeDelivery(delivery), delivery.body);
    this.#delivery = slab;
    this.#at = at;
    this.#split = split;
    this.#end = end;
  }
}
