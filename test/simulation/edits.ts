/** Edits of the daemon's configuration: other intervals, lower caps, a policy less, or a mistake. Each is undone later. */
import { broken, configOf, KEY, KEY_FILE, policiesOf, type ConfigOf } from './config.ts';
import type { SimDaemon } from './daemon.ts';
import { Process, type Loop } from './loop.ts';
import { POLICIES } from './policies.ts';

const MINUTE = 60_000;
/** Policies whose triggers are compared with their causes: they stay. */
const KEPT = new Set(['resume-payroll', 'republish-invoices']);

export class Edits {
  readonly #loop: Loop;
  readonly #daemon: SimDaemon;
  readonly #of: ConfigOf;
  readonly #first: string;
  readonly #process = new Process('editor');

  constructor(loop: Loop, daemon: SimDaemon, of: ConfigOf) {
    this.#loop = loop;
    this.#daemon = daemon;
    this.#of = of;
    this.#first = configOf(of);
    daemon.put(KEY_FILE, KEY);
    daemon.configure(this.#first);
  }

  /** Edits the file. The daemon sees it by itself, or gets a signal. */
  edit(): void {
    const { faults } = this.#loop;
    const names = policiesOf(this.#of).filter((name) => !KEPT.has(name));
    const name = names[faults.below(names.length)]!;
    const texts = [
      () => broken(this.#first),
      () => configOf(this.#of),
      () => configOf(this.#of, { without: name }),
      () => configOf(this.#of, POLICIES[name]!.caps === undefined ? {} : { lowered: name }),
    ];
    const kind = faults.below(texts.length);
    this.#loop.note(
      this.#process,
      `edit ${['a mistake', 'intervals', `without ${name}`, `lower caps of ${name}`][kind]}`,
    );
    this.#daemon.configure(texts[kind]!());
    if (faults.below(2) === 0) this.#daemon.reload();
    this.#loop.after((1 + faults.below(10)) * MINUTE, this.#process, 'undoes the edit', () => this.undo());
  }

  undo(): void {
    this.#daemon.configure(this.#first);
  }
}
