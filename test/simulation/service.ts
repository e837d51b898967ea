/** The service of a history: the emulator with an account, its books, and the applications that use it. */
import { runEmulator, type RunningEmulator } from '#emulator/emulator.ts';
import type { RecordedRequest } from '#emulator/control/request-recorder.ts';
import type { OperationFaultRule } from '#emulator/http/faults.ts';
import type { Random } from '#foundation/platform/random.ts';
import type { LogRow } from '../support/service.ts';
import { get, post, type Application } from './application.ts';
import { BulkSender } from './bulk.ts';
import { needsGroup } from './canary-routes.ts';
import { setDestinations, type Answer } from './destinations.ts';
import { Process, runAs, type Loop } from './loop.ts';
import { BUDGET } from './policies.ts';
import { hasStaging, STAGING, StagingSender } from './staging.ts';
import { HOOKS_PORT } from './wire.ts';

export const ACCOUNT = 'acc-1';
export const HOOKS = `127.0.0.1:${HOOKS_PORT}`;
export const HOOK_TOKEN = 'hook-token';
export const ALERT_TOKEN = 'alert-token';
/** First token of the account. */
const TOKEN = 'simulated-token';

const JSON_TYPE = { 'content-type': 'application/json' };

const MINUTE = 60_000;
/** Mean time between two requests of the applications. */
const PAUSE_MS = 20_000;

/** Faults of responses, with the probability that a storm has one, and of each request in it. */
const STORMS: readonly OperationFaultRule['fault'][] = [
  { kind: 'status', status: 500 },
  { kind: 'status', status: 503, retryAfter: 1 },
  { kind: 'rate-limit', form: 'burst' },
  { kind: 'rate-limit', form: 'burst', resetMs: 120_000 },
  { kind: 'lost' },
  { kind: 'truncated' },
  { kind: 'truncated', how: 'connection' },
  { kind: 'repeated-cursor' },
  { kind: 'latency', ms: 15_000 },
];
/** Disorder in the responses to readings. @param late factor of the share of very late entries */
const disorderOf = (late: number): readonly OperationFaultRule[] => [
  { operations: ['list-logs'], fault: { kind: 'duplicate', share: 0.05 } },
  { operations: ['list-logs'], fault: { kind: 'duplicate', share: 0.05, when: 'later' } },
  { operations: ['list-logs'], fault: { kind: 'late', ms: 100_000, share: 0.02 } },
  // The latest entries that sweeps are certain to find.
  { operations: ['list-logs'], fault: { kind: 'late', ms: 15 * MINUTE, share: Math.min(1, 0.002 * late) } },
  { operations: ['list-workflow-dlq'], probability: 0.2, fault: { kind: 'duplicate', share: 0.3 } },
  { operations: ['get-account-stats'], probability: 0.3, fault: { kind: 'duplicate', share: 0.3 } },
  // At most as late as the settle time.
  { operations: ['get-account-stats'], fault: { kind: 'late', ms: 150_000, share: 0.3 } },
];

/** A write that the service received. */
export type Sent = Pick<RecordedRequest, 'method' | 'path' | 'status' | 'at' | 'headers' | 'lost'>;

export class SimService {
  readonly #loop: Loop;
  readonly #random: Random;
  readonly emulator: RunningEmulator;
  readonly process: Process;
  readonly #app = new Process('app');
  /** Hosts that fail now. */
  readonly #broken = new Set<string>();
  /** Writes of the daemon. */
  readonly sent: Sent[] = [];
  readonly #bulk: BulkSender;
  readonly #staging: StagingSender;
  /** Budgets that the account has had, oldest first. */
  readonly budgets: number[] = [];
  #sequence = 0;
  #rotations = 0;
  #posted = 0;
  #isBusy = true;
  failures = 0;

  private constructor(loop: Loop, process: Process, emulator: RunningEmulator) {
    this.#loop = loop;
    this.#random = loop.random('traffic');
    this.process = process;
    this.emulator = emulator;
    this.#bulk = new BulkSender(loop, emulator);
    this.#staging = new StagingSender(loop, emulator);
    setDestinations(loop, (url) => this.#answer(url));
    const account = emulator.accounts.byId(ACCOUNT)!;
    if (needsGroup(loop)) this.#createGroup();
    const { budgets } = this;
    budgets.push(account.budgetUsd);
    Object.defineProperty(account, 'budgetUsd', {
      get: () => budgets.at(-1),
      set: (amount: number) => {
        if (amount !== budgets.at(-1)) budgets.push(amount);
      },
    });
  }

  static async start(loop: Loop): Promise<SimService> {
    const process = new Process('service');
    const emulator = await runAs(process, () =>
      runEmulator({
        clock: loop.clockOf(process),
        time: 'real',
        control: true,
        random: loop.random('emulator'),
        listen: { host: '127.0.0.1', port: 0 },
        accounts: [
          { id: ACCOUNT, token: TOKEN, budgetUsd: BUDGET.knownUsd },
          ...(hasStaging(loop) ? [{ id: STAGING.id, token: STAGING.token }] : []),
        ],
        management: { username: 'user', password: 'password' },
        onError: (error) => (loop.failure ??= error),
      }),
    );
    return new SimService(loop, process, emulator);
  }

  /** Starts the traffic, and outages of the destinations. */
  begin(): void {
    this.#next();
    this.#bulk.begin();
    this.#staging.begin();
    for (const host of ['bill', 'mail', 'shop']) this.#toggle(host);
  }

  /** Ends the traffic. Destinations work from now on. */
  rest(): void {
    this.#isBusy = false;
    this.#bulk.rest();
    this.#staging.rest();
    this.#broken.clear();
    this.emulator.control.faults.clear();
  }

  /** Starts a storm of faults, for some minutes. */
  storm(): void {
    const { faults } = this.#loop;
    const { faults: rules } = this.emulator.control;
    const fault = STORMS[faults.below(STORMS.length)]!;
    const { id } = rules.add({ probability: 0.2 + faults.below(8) / 10, fault });
    this.#loop.note(this.process, `storm ${JSON.stringify(fault)}`);
    this.#loop.after(faults.below(20) * MINUTE, this.process, 'the storm ends', () => rules.remove(id));
  }

  /** Lets the service report what it has late or twice, until it rests. */
  disorder(): void {
    const late = this.#loop.faults.factor('late entry');
    for (const rule of disorderOf(late)) this.emulator.control.faults.add(rule);
  }

  /** Takes over the writes that the service has recorded. Its memory of requests is short. */
  take(): readonly Sent[] {
    const records = this.emulator.control.requests.list({ after: this.#sequence });
    this.#sequence = records.at(-1)?.sequence ?? this.#sequence;
    // The requests of the applications name no program.
    const writes = records.filter(({ method, headers }) => method !== 'GET' && headers['user-agent'] !== undefined);
    this.sent.push(...writes);
    return writes;
  }

  /** Token that the service accepts now. */
  get token(): string {
    return this.emulator.accounts.byId(ACCOUNT)!.token;
  }

  /** Replaces the token, as someone does in the console of the service. */
  rotate(): void {
    this.emulator.accounts.byId(ACCOUNT)!.token = `rotated-token-${(this.#rotations += 1)}`;
  }

  /** Returns every entry of an account's log, as the service wrote them, the first one first. */
  async logRows(account: string): Promise<readonly LogRow[]> {
    const rows: LogRow[] = [];
    let cursor = '';
    do {
      const { text } = await get(this.#as(account), `/v2/logs${cursor && `?cursor=${encodeURIComponent(cursor)}`}`);
      const page = JSON.parse(text) as { readonly logs: readonly LogRow[]; readonly cursor?: string };
      rows.push(...page.logs);
      cursor = page.cursor ?? '';
    } while (cursor !== '');
    return rows.toReversed();
  }

  #below(max: number): number {
    return Math.floor(this.#random() * max);
  }

  #next(): void {
    const pause = -Math.log(1 - this.#random()) * PAUSE_MS;
    this.#loop.after(pause, this.#app, 'application', () => {
      if (!this.#isBusy) return;
      this.#request();
      this.#next();
    });
  }

  #toggle(host: string): void {
    this.#loop.after(this.#below(90) * MINUTE, this.#app, 'weather', () => {
      if (!this.#isBusy) return;
      if (!this.#broken.delete(host)) this.#broken.add(host);
      this.#loop.note(this.#app, `${host} ${this.#broken.has(host) ? 'breaks' : 'works'}`);
      this.#toggle(host);
    });
  }

  #request(): void {
    const kind = this.#random();
    const retries = { 'Svc-Retries': String(this.#below(3)), 'Svc-Retry-Delay': String(1_000 + this.#below(60_000)) };
    const once = { 'Svc-Retries': '0' };
    const run = this.#below(100_000);
    const bill = `https://bill.example/pay/${this.#below(3)}`;
    if (kind < 0.25) this.#post('trigger', bill, { ...once, 'Svc-Label': 'billing' });
    else if (kind < 0.3) this.#post('trigger', `https://gone.example/old/${run}`, { ...once, 'Svc-Label': 'billing' });
    else if (kind < 0.37) this.#post('trigger', bill, { ...once, 'Svc-Label': 'payroll' });
    else if (kind < 0.44) this.#post('trigger', bill, { ...once, 'Svc-Label': 'refunds' });
    else if (kind < 0.54)
      this.#post('publish', `https://mail.example/send/${run}`, { ...once, ...this.#callback('newsletter') });
    else if (kind < 0.66) this.#post('publish', 'https://mail.example/order', { ...once, ...this.#callback('orders') });
    else if (kind < 0.73)
      this.#post('publish', 'https://bill.example/invoice', { ...once, ...this.#callback('invoices') });
    else if (kind < 0.8)
      this.#post('publish', 'https://shop.example/later', { ...retries, 'Svc-Delay': `${this.#below(600)}s` });
    else this.#post('publish', `https://shop.example/order/${this.#below(5)}`, { ...retries, 'Svc-Label': 'bulk' });
  }

  #callback(label: string): Record<string, string> {
    return {
      'Svc-Label': label,
      'Svc-Failure-Callback': `http://${HOOKS}/hooks/callbacks/production`,
      'Svc-Failure-Callback-Retries': '2',
      'Svc-Failure-Callback-Forward-Authorization': `Bearer ${HOOK_TOKEN}`,
      'Svc-Failure-Callback-Forward-Opsd-Label': label,
    };
  }

  #post(operation: string, url: string, headers: Record<string, string>): void {
    const sent = { headers, body: { of: (this.#posted += 1) } };
    post(this.#as(ACCOUNT), `/v2/${operation}/${url}`, sent).catch(() => (this.failures += 1));
  }

  #as(account: string): Application {
    return { process: this.#app, emulator: this.emulator, account };
  }

  /** Creates the URL Group of a canary. */
  #createGroup(): void {
    const body = { endpoints: [{ url: `http://${HOOKS}/hooks/canary/production/lane` }] };
    void post(this.#as(ACCOUNT), '/v2/topics/lane/endpoints', { headers: JSON_TYPE, body });
  }

  #answer({ hostname }: URL): Answer {
    const host = hostname.split('.')[0]!;
    const afterMs = 1 + this.#below(this.#random() < 0.05 ? 5_000 : 300);
    if (host === 'gone') return { afterMs, status: 404 };
    const isBroken = this.#broken.has(host) ? this.#random() < 0.9 : this.#random() < 0.02;
    return { afterMs, status: isBroken ? [500, 503, 0][this.#below(3)]! : 200 };
  }
}
