/** Collects what a daemon and its commands show, place by place, and looks for secrets in it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Program } from './program.ts';

export class Places {
  readonly seen: Record<string, string> = {};

  add(place: string, text: string): void {
    this.seen[place] = (this.seen[place] ?? '') + text;
  }

  /** Adds the responses of a daemon, whatever their status. */
  async addPages(url: string, paths: readonly string[]): Promise<void> {
    for (const path of paths) this.add(path, await (await fetch(url + path)).text());
  }

  /** Adds the whole output of a program, which ends by itself. */
  async addOutput(place: string, program: Program): Promise<void> {
    const { stdout, stderr } = await program.output();
    this.add(place, stdout + stderr);
  }

  /** Adds the arguments of a running program, as other users of the machine see them. */
  addArguments(place: string, { pid }: Program): void {
    this.add(place, readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
  }

  /** Adds the files of the store `opsd.db` of a folder. */
  addStore(folder: string): void {
    for (const file of readdirSync(folder).filter((name) => name.startsWith('opsd.db'))) {
      this.add(file, readFileSync(join(folder, file), 'latin1'));
    }
    if (!('opsd.db' in this.seen)) throw new Error(`no store in ${folder}`);
  }

  /** Returns the secrets in each place, and the places without a text, one line each. */
  leaks(secrets: readonly string[], isMeant: (place: string) => boolean = () => true): readonly string[] {
    return Object.entries(this.seen)
      .filter(([place]) => isMeant(place))
      .flatMap(([place, text]) => {
        const found = secrets.filter((secret) => text.includes(secret)).map((secret) => `${secret} in ${place}`);
        return text === '' ? [`nothing in ${place}`] : found;
      });
  }
}
