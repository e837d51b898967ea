/** An operator of the daemon, with commands over its socket: pauses, deploys, decisions about plans, manual plans. */
import type { Random } from '#foundation/platform/random.ts';
import { exchange, type Answered } from './exchange.ts';
import { Process, type Loop } from './loop.ts';

const MINUTE = 60_000;
/** Parts of a deploy: one host fails permanently, and two fail at times. */
const DEPLOYED = ['https://bill.example/', 'https://mail.example/', 'gone.example'];
const SELECTIONS = [
  { action: 'resume', label: ['billing'] },
  { action: 'resume', label: ['refunds'] },
  { action: 'delete', label: ['billing'] },
  { action: 'republish', label: ['orders'] },
  { action: 'republish', label: ['invoices'] },
  { action: 'delete-messages', label: ['newsletter'] },
];

interface Place {
  readonly socketPath: string;
}

export class Operator {
  readonly #loop: Loop;
  readonly #daemon: Place;
  readonly #process = new Process('operator');
  /** Decides about plans. */
  readonly random: Random;
  #deploys = 0;
  /** Time of the response to a pause of the engine, until its end is requested. */
  pausedAt = Infinity;
  /** Number of ends of pauses so far: requests and responses. */
  #lifts = 0;
  /** Number of requested ends without a response. They may come true at any time. */
  #lifting = 0;

  constructor(loop: Loop, daemon: Place) {
    this.#loop = loop;
    this.#daemon = daemon;
    this.random = loop.random('operator');
  }

  /** Pauses the engine or a policy, for some minutes. */
  pause(): void {
    this.#pause(this.#loop.faults.below(2) === 0 ? undefined : 'resume-billing');
  }

  /** Pauses the engine, with a command to one of the replicas. */
  pauseAll(at: Place): void {
    this.#pause(undefined, at);
  }

  #pause(policy: string | undefined, at = this.#daemon): void {
    const { faults } = this.#loop;
    const lifts = this.#lifts;
    this.#command('/api/v1/pause', { reason: 'a test', ...(policy && { policy }) }, at).then(
      ({ status }) => {
        const isCertain = lifts === this.#lifts && this.#lifting === 0;
        if (status === 200 && policy === undefined && isCertain) this.pausedAt = this.#loop.time;
      },
      () => undefined,
    );
    this.#loop.after(faults.below(20) * MINUTE, this.#process, 'lifts the pause', () => this.lift());
  }

  /** Pauses the engine until the end of the history. */
  async hold(): Promise<void> {
    const { status, text } = await this.#command('/api/v1/pause', { reason: 'the end' });
    if (status !== 200) throw new Error(text);
    this.pausedAt = this.#loop.time;
  }

  /** Lifts every pause. Repeats the command until it succeeds. */
  lift(): void {
    this.#lifted();
    this.#lifting += 1;
    const again = (): void => void this.#loop.after(MINUTE, this.#process, 'lifts the pause', () => this.lift());
    this.#command('/api/v1/unpause', { reason: 'the test is over' })
      .finally(() => {
        this.#lifting -= 1;
        this.#lifted();
      })
      .then(({ status }) => {
        if (status !== 200) again();
      }, again);
  }

  #lifted(): void {
    this.pausedAt = Infinity;
    this.#lifts += 1;
  }

  /** Reports a deploy of a new version, sometimes a failed one or the previous version. */
  deploy(): void {
    const { faults } = this.#loop;
    const of = [DEPLOYED[faults.below(DEPLOYED.length)]!];
    const version = `v${faults.below(5) === 0 ? this.#deploys - 1 : (this.#deploys += 1)}`;
    this.#command('/api/v1/deploys', { of, version, ...(faults.below(6) === 0 && { failed: true }) }).catch(
      () => undefined,
    );
  }

  /** Approves or rejects each pending plan, or leaves it. */
  decide(): void {
    void this.#list('/api/v1/plans?state=pending', 'plans').then((plans) => {
      for (const { id } of plans) {
        const verb = ['approve', 'approve', 'approve', 'reject', undefined][Math.floor(5 * this.random())];
        if (verb !== undefined) this.#command(`/api/v1/${verb}`, { plan: id, reason: 'a test' }).catch(() => undefined);
      }
    });
  }

  /** Makes a manual plan, applies it, and sometimes cancels it. */
  async plan(): Promise<void> {
    const { faults } = this.#loop;
    const selection = SELECTIONS[faults.below(SELECTIONS.length)]!;
    const isCancelled = faults.below(4) === 0;
    try {
      const { status, text } = await this.#command('/api/v1/plan', { selection, reason: 'a test' });
      if (status !== 200) return;
      const { id: plan } = JSON.parse(text) as { readonly id: string };
      const applied = this.#command('/api/v1/apply', { plan });
      if (isCancelled) {
        const cancel = (): void =>
          void this.#command('/api/v1/cancel', { plan, reason: 'a test' }).catch(() => undefined);
        this.#loop.after(2 * MINUTE, this.#process, 'cancels a plan', cancel);
      }
      await applied;
    } catch {
      // The daemon or the connection has ended.
    }
  }

  /** Acknowledges or snoozes an incident. */
  note(): void {
    void this.#list('/api/v1/incidents', 'incidents').then((incidents) => {
      const { faults } = this.#loop;
      const incident = incidents[faults.below(incidents.length)]?.id;
      if (incident === undefined) return;
      const isSnoozed = faults.below(2) === 0;
      const until = faults.below(2) === 0 ? 'deploy' : '10m';
      const body = isSnoozed ? { incident, until } : { incident, note: 'a test' };
      this.#command(`/api/v1/${isSnoozed ? 'snooze' : 'acknowledge'}`, body).catch(() => undefined);
    });
  }

  /** Sends an operation of the service. */
  operate(name: string, values: object): void {
    this.#command(`/api/v1/operations/${name}`, values).catch(() => undefined);
  }

  /** Returns the rows of a list; none if the daemon does not respond. */
  async #list(path: string, rows: string): Promise<readonly { readonly id: string }[]> {
    try {
      const { status, text } = await this.#send('GET', path);
      if (status !== 200) return [];
      return (JSON.parse(text) as Readonly<Record<string, readonly { readonly id: string }[]>>)[rows] ?? [];
    } catch {
      return [];
    }
  }

  #command(path: string, body: object, at = this.#daemon): Promise<Answered> {
    this.#loop.note(this.#process, `${path} ${JSON.stringify(body)}`);
    return this.#send('POST', path, { body: JSON.stringify(body), at });
  }

  #send(
    method: string,
    path: string,
    { body, at = this.#daemon }: { body?: string; at?: Place } = {},
  ): Promise<Answered> {
    const headers = { 'content-type': 'application/json', host: 'localhost' };
    const { socketPath } = at;
    return exchange(this.#process, { socketPath, path, method, headers, ...(body !== undefined && { body }) });
  }
}
