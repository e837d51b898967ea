/** A stretch of a dead letter queue. */
import { failureFunctionState } from './failure-function-state.ts';
import type { Message } from './message.ts';
import { hashOf, STATE_CODES, Stretch } from './stretch.ts';

export class DeadLetterChunk extends Stretch {
  /** Number of dead letters that have not been removed. */
  size = 0;

  add(at: number, { message, failedAt }: { readonly message: Message; readonly failedAt: number }): void {
    const { codes } = this;
    const { labels, callerIp, flowControl } = message.delivery;
    this.put(at, { message, time: failedAt, label: codes.label.hold(labels) });
    this.set('responseStatus', at, message.lastOutcome?.status ?? 0);
    this.set('runId', at, hashOf(message.workflow?.runId ?? 0));
    this.set('runCreatedAt', at, hashOf(message.workflow?.createdAt ?? 0));
    this.set('callerIp', at, codes.callerIp.hold(callerIp));
    this.set('flowControlKey', at, codes.flowControlKey.hold(flowControl?.key));
    this.notice(at);
    this.size++;
  }

  /** Reads the state of the failure function of a dead letter's message. */
  notice(at: number): void {
    const message = this.messages[at];
    const state = message && failureFunctionState(message);
    this.set('state', at, state === undefined ? 0 : STATE_CODES[state]);
  }

  /** Does the same for all that were in progress, because they may have ended. */
  noticeEnded(): void {
    for (let at = 0; at < this.messages.length; at++) {
      if (this.value('state', at) === STATE_CODES.CALLBACK_INPROGRESS) this.notice(at);
    }
  }

  remove(at: number): void {
    this.messages[at] = undefined;
    this.release(at);
    for (const field of ['callerIp', 'flowControlKey'] as const) this.codes[field].release(this.value(field, at));
    this.size--;
  }
}
