/** Alertmanager: an alert about the account that fires and ends, reported late, twice or again, until it is taken. */
import { exchange } from './exchange.ts';
import { EPOCH, Process, type Loop } from './loop.ts';
import { ALERT } from './policies.ts';
import { ALERT_TOKEN, HOOKS } from './service.ts';
import type { Books } from './subject.ts';
import { none } from './violation.ts';

const MINUTE = 60_000;
const POLICY = 'resume-payroll';

export class Alerts {
  readonly #loop: Loop;
  readonly #process = new Process('alertmanager');
  /** Keys of the alerts whose firing the daemon has taken. */
  readonly #taken = new Set<string>();
  #count = 0;

  constructor(loop: Loop) {
    this.#loop = loop;
  }

  /** Begins an alert, which ends some minutes later. */
  fire(): void {
    const { faults } = this.#loop;
    const alert = { fingerprint: `f${(this.#count += 1)}`, startsAt: new Date(EPOCH + this.#loop.time).toISOString() };
    const late = faults.below(3) === 0 ? faults.below(5) * MINUTE : 0;
    this.#after(late, () => this.#tell('firing', alert));
    if (faults.below(3) === 0) this.#after(late, () => this.#tell('firing', alert));
    if (faults.below(3) === 0) this.#after(late + faults.below(10) * MINUTE, () => this.#tell('firing', alert));
    this.#after((1 + faults.below(20)) * MINUTE, () => this.#tell('resolved', alert));
  }

  /** Checks that no alert which the daemon took is without its trigger. */
  check(db: Books): void {
    const known = db.prepare('SELECT key FROM triggers WHERE policy = ?').all(POLICY);
    const keys = new Set(known.map(({ key }) => String(key)));
    none(
      'every alert triggers its policy',
      [...this.#taken].filter((key) => !keys.has(key)),
    );
  }

  #after(ms: number, work: () => void): void {
    this.#loop.after(ms, this.#process, 'alert', work);
  }

  /** Alertmanager sends again until the receiver responds with success. */
  #tell(status: 'firing' | 'resolved', alert: { readonly fingerprint: string; readonly startsAt: string }): void {
    this.#loop.note(this.#process, `${ALERT} ${alert.fingerprint} ${status}`);
    const labels = { alertname: ALERT, account: 'production' };
    const body = JSON.stringify({ version: '4', alerts: [{ status, labels, ...alert }] });
    const headers = { authorization: `Bearer ${ALERT_TOKEN}`, 'content-type': 'application/json' };
    const again = (): void => this.#after(MINUTE, () => this.#tell(status, alert));
    exchange(this.#process, {
      url: `http://${HOOKS}`,
      path: '/hooks/alertmanager/opsd',
      method: 'POST',
      headers,
      body,
    }).then((answer) => {
      if (answer.status !== 202) return again();
      if (status === 'firing') this.#taken.add(`opsd/${alert.fingerprint}/${alert.startsAt}`);
    }, again);
  }
}
