/** A reader of a tutorial: creates its files, runs its commands in order in a folder, and compares what they print. */
import { deepEqual } from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { freePort } from '../support/free-port.ts';
import { start } from '../support/program.ts';
import { CTRL_C, onTerminal, type Terminal } from '../support/pseudo-terminal.ts';
import { compareOutput, type Command, type Step } from './tutorial-page.ts';
import { until } from '../support/until.ts';

export interface Desk {
  /** Empty folder of the reader. */
  readonly folder: string;
  /** The package that `npm install` installs. */
  readonly tarball: string;
}

/** @throws {Error} with the difference, at the first step that does not do what the page shows */
export async function follow(steps: readonly Step[], desk: Desk): Promise<void> {
  const reader = new Reader(desk, await portsFor(steps));
  try {
    for (const step of steps) {
      if (step.kind === 'file') reader.write(step.name, step.text);
      else if (step.kind === 'command') await reader.run(step);
    }
  } finally {
    await reader.leave();
  }
}

/** Returns a free port for each port that the page uses. The daemon's own is 10777, without an option. */
async function portsFor(steps: readonly Step[]): Promise<Map<string, string>> {
  const text = steps.map((step) => (step.kind === 'file' ? step.text : step.script)).join('\n');
  const ports = new Map([['10777', String(await freePort())]]);
  for (const [, port] of text.matchAll(/127\.0\.0\.1:(\d+)/g)) {
    if (!ports.has(port!)) ports.set(port!, String(await freePort()));
  }
  return ports;
}

class Reader {
  readonly #desk: Desk;
  /** Values of this run by those on the page: ports, and ids that commands printed. */
  readonly #values: Map<string, string>;
  readonly #ports: ReadonlySet<string>;
  readonly #terminals: Terminal[] = [];
  readonly #env: Readonly<Record<string, string>>;

  constructor(desk: Desk, ports: ReadonlyMap<string, string>) {
    this.#desk = desk;
    this.#values = new Map(ports);
    this.#ports = new Set(ports.values().map((port) => `127.0.0.1:${port}`));
    this.#env = {
      PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
      OPSD_LISTEN: `127.0.0.1:${ports.get('10777')!}`,
      npm_config_offline: 'true',
      npm_config_cache: join(desk.folder, '../npm-cache'),
      npm_config_progress: 'false',
      npm_config_userconfig: join(desk.folder, '../npmrc'),
      npm_config_update_notifier: 'false',
    };
  }

  write(name: string, text: string): void {
    const path = join(this.#desk.folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, this.#here(text));
  }

  async run({ script, how, exitCode, output }: Command): Promise<void> {
    if (how === 'keeps running') return this.#serve(script, output!);
    const attempt = async (): Promise<{ code: number | null; text: string }> => {
      const program = start('sh', ['-ec', `exec 2>&1\n${this.#command(script)}`], {
        cwd: this.#desk.folder,
        env: this.#env,
      });
      const { code } = await program.ended;
      return { code, text: program.stdout() };
    };
    let result = await attempt();
    const isDone = (): boolean =>
      result.code === exitCode && (output === undefined || this.#isShown(output, result.text));
    if (how === 'repeats' && !isDone()) {
      const again = async (): Promise<boolean> => ((result = await attempt()), isDone());
      await until({ what: script }, again).catch(() => undefined);
    }
    // Fails with the difference, in the words of the page.
    if (!isDone()) deepEqual({ script, ...result }, { script, code: exitCode, text: output });
  }

  /** Ends the programs that serve as the page says: by Ctrl-C. */
  async leave(): Promise<void> {
    for (const terminal of this.#terminals.toReversed()) {
      terminal.press(CTRL_C);
      await terminal.ended;
    }
  }

  async #serve(script: string, output: string): Promise<void> {
    const terminal = onTerminal(this.#command(script), { cwd: this.#desk.folder, env: this.#env });
    this.#terminals.push(terminal);
    const isReady = (): boolean => this.#isShown(output, terminal.screen());
    await until({ what: script }, isReady).catch(() => undefined);
    if (!isReady()) deepEqual({ script, text: terminal.screen().slice(0, 4_000) }, { script, text: output });
  }

  /** Returns a command of the page with the values of this run. */
  #command(script: string): string {
    const { tarball } = this.#desk;
    return this.#here(script.trimEnd()).replace(
      /^(npm install (?:--\S+ )*)\S*msgsvc-opsd\S*$/m,
      (_, install) => `${install}'${tarball}'`,
    );
  }

  #here(text: string): string {
    const shown = [...this.#values.keys()].map((value) => RegExp.escape(value));
    return text.replaceAll(new RegExp(String.raw`(?<![\w-])(?:${shown.join('|')})(?![\w-])`, 'g'), (value) => {
      return this.#values.get(value)!;
    });
  }

  #isShown(shown: string, printed: string): boolean {
    const ids = compareOutput(this.#here(shown), printed, new Set([...this.#ports, ...this.#values.values()]));
    for (const [id, here] of ids ?? []) this.#values.set(id, here);
    return ids !== undefined;
  }
}
