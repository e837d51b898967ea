/** Traffic of a virtual day's account, poll by poll: to a group and to single hosts, some of which fail at times. */
import type { RunningEmulator } from '#emulator/emulator.ts';
import type { Step } from '#emulator/types/public.ts';
import type { Random } from '#foundation/platform/random.ts';
import { publish, putEndpoints, TEST_TOKEN, trigger, type Service } from './service.ts';

const ACCOUNT = 'acc-1';
const MINUTE = 60_000;
const GROUP = 'bulk';
const HOSTS = 6;
const MOST_ENDPOINTS = 100;
const MOST_SINGLES = 8;
/** Number of send times in a poll. */
const BURSTS = 3;

export interface DayTrafficOptions {
  readonly emulator: RunningEmulator;
  readonly random: Random;
  /** Messages between two polls. */
  readonly messagesAtOnce: number;
}

export class DayTraffic {
  readonly #emulator: RunningEmulator;
  readonly #service: Service;
  readonly #random: Random;
  readonly #atOnce: number;
  readonly #endpoints: number;
  #owed = 0;
  #sent = 0;
  /** Ids of messages that wait for days. */
  readonly #waiting = new Set<string>();

  constructor({ emulator, random, messagesAtOnce }: DayTrafficOptions) {
    this.#emulator = emulator;
    this.#service = { url: emulator.url, token: TEST_TOKEN };
    this.#random = random;
    this.#atOnce = messagesAtOnce;
    // Most messages go to the group, because each of the others is a separate request.
    const singles = Math.min(messagesAtOnce * 0.2, MOST_SINGLES);
    this.#endpoints = Math.max(1, Math.min(MOST_ENDPOINTS, Math.floor(messagesAtOnce - singles)));
  }

  async begin(): Promise<void> {
    const endpoints = Array.from({ length: this.#endpoints }, (_, n) => ({
      name: `endpoint-${n}`,
      url: `https://host-${n % HOSTS}.example/bulk/${n}`,
    }));
    await putEndpoints(this.#service, GROUP, endpoints);
    await this.#script();
  }

  /** Sends the messages between two polls, and moves the service's time accordingly. */
  async poll(ms: number): Promise<void> {
    await this.#script();
    this.#owed += this.#atOnce;
    let left = ms;
    for (let burst = BURSTS; burst > 0; burst -= 1) {
      if (burst === 2 && this.#owed >= this.#endpoints) {
        this.#owed -= this.#endpoints;
        await publish(this.#service, GROUP, this.#retrying());
      }
      const singles = Math.floor((this.#owed - (burst > 2 ? this.#endpoints : 0)) / burst);
      for (let single = 0; single < singles; single += 1) await this.#send();
      this.#owed -= Math.max(0, singles);
      if (this.#random() < 0.2) await this.#cancel();
      const step = burst === 1 ? left : this.#below(left / burst);
      left -= step;
      await this.quiet(step);
    }
  }

  /** Moves time without sending. Due events occur. */
  async quiet(ms: number): Promise<void> {
    await this.#emulator.advance(ms);
  }

  async #send(): Promise<void> {
    const url = `https://host-${this.#below(HOSTS)}.example/orders/${++this.#sent}`;
    const fate = this.#random();
    if (fate < 0.1) {
      await trigger(this.#service, url, this.#retrying());
    } else if (fate < 0.15) {
      await publish(this.#service, url, { ...this.#retrying(), 'Svc-Delay': `${1 + this.#below(600)}s` });
    } else if (fate < 0.2) {
      this.#waiting.add(await publish(this.#service, url, { 'Svc-Delay': '10d' }));
    } else {
      const id = await publish(this.#service, url, this.#retrying());
      // Canceled during its delivery, which continues.
      if (fate < 0.22) {
        await this.quiet(1 + this.#below(50));
        this.#emulator.cancelMessage(ACCOUNT, id);
      }
    }
  }

  async #cancel(): Promise<void> {
    const [id] = this.#waiting;
    if (id === undefined || this.#waiting.size < 3) return;
    this.#waiting.delete(id);
    this.#emulator.cancelMessage(ACCOUNT, id);
  }

  #retrying(): Record<string, string> {
    const delay = 1_000 + this.#below(20 * MINUTE);
    return { 'Svc-Retries': String(this.#below(4)), 'Svc-Retry-Delay': String(delay) };
  }

  /** Scripts each host's responses to the next requests. */
  async #script(): Promise<void> {
    for (let host = 0; host < HOSTS; host += 1) {
      const good: Step = { status: 200, afterMs: this.#below(900) };
      const bad = this.#failure();
      const share = this.#random();
      let steps: readonly Step[] = share < 0.5 ? [bad, good] : [{ ...good, times: 1 + this.#below(20) }, bad, good];
      // One host is down for a while, and another always responds.
      if (host === 1 && share < 0.1) steps = [bad];
      if (host === 2) steps = [good];
      await this.#emulator.destinations.script(`host-${host}.example`, steps);
    }
  }

  #failure(): Step {
    const afterMs = this.#below(900);
    const kind = this.#below(4);
    if (kind === 0) return { fault: 'reset', afterMs, times: 1 + this.#below(2) };
    return { status: [404, 500, 503][kind - 1]!, afterMs, times: 1 + this.#below(3) };
  }

  #below(max: number): number {
    return Math.floor(this.#random() * max);
  }
}
