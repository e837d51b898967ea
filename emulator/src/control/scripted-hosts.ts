/** The scripts of hosts and of their paths: which step is next for a request, and what each host got. */
import { getOrAdd } from '#foundation/platform/get-or-add.ts';
import type { DeliveredRequest, StepDetails } from '../types/public.ts';
import { ScriptError } from './scripted-steps.ts';

export interface ScriptedRequest extends Omit<DeliveredRequest, 'body' | 'bodyBytes'> {
  readonly body: Buffer;
}

interface Script {
  readonly steps: readonly StepDetails[];
  /** Number of requests received, which selects the next step. */
  done: number;
}

interface Host {
  /** Scripts by path. The empty path is the whole host. */
  readonly scripts: Map<string, Script>;
  readonly requests: ScriptedRequest[];
}

/** A host, or a path of it and all below. */
export interface Place {
  readonly host: string;
  /** Empty for the whole host. */
  readonly path: string;
}

const MAX_REQUESTS = 1_000;

export class ScriptedHosts {
  readonly #hosts = new Map<string, Host>();

  script({ host: name, path }: Place, steps: readonly StepDetails[]): void {
    const host = getOrAdd(this.#hosts, name, () => ({ scripts: new Map(), requests: [] }));
    host.scripts.set(path, { steps, done: 0 });
  }

  knows(host: string): boolean {
    return this.#hosts.has(host.toLowerCase());
  }

  requests(host: string): readonly ScriptedRequest[] {
    return [...(this.#hosts.get(host.toLowerCase())?.requests ?? [])];
  }

  clear(host?: string): void {
    if (host === undefined) this.#hosts.clear();
    else this.#hosts.delete(host.toLowerCase());
  }

  record(host: string, request: ScriptedRequest): void {
    const requests = this.#hosts.get(host)?.requests;
    if (requests === undefined) return;
    requests.push(request);
    if (requests.length > MAX_REQUESTS) requests.shift();
  }

  /** Takes the step for the next request to a path; undefined if no script is for it. */
  take(host: string, path: string): StepDetails | undefined {
    const script = this.#scriptOf(host, path);
    return script && take(script);
  }

  /** Takes the next step for a path if it refuses the connection. */
  takeRefusal(host: string, path: string): boolean {
    const script = this.#scriptOf(host, path);
    if (script === undefined || stepAt(script).fault !== 'refuse') return false;
    take(script);
    return true;
  }

  /** Returns the script of the path, or of its nearest ancestor. */
  #scriptOf(host: string, target: string): Script | undefined {
    const scripts = this.#hosts.get(host)?.scripts;
    let path = target.split('?', 1)[0]!.replace(/(?<!\/)\/+$/, '');
    for (;;) {
      const script = scripts?.get(path);
      if (script !== undefined || path === '') return script;
      path = path.slice(0, Math.max(0, path.lastIndexOf('/')));
    }
  }
}

/** @throws {ScriptError} when it is neither a host name nor a host name with a path */
export function readPlace(place: string): Place {
  const [host, path] = [place.split('/', 1)[0]!.toLowerCase(), place.slice(place.indexOf('/') + 1)];
  if (URL.parse(`http://${host}/`)?.hostname !== host) {
    throw new ScriptError(`a place is a host name, or a host name with a path, not ${place.slice(0, 200)}`);
  }
  return { host, path: place.includes('/') ? `/${path}`.replace(/(?<!\/)\/+$/, '') : '' };
}

function take(script: Script): StepDetails {
  const step = stepAt(script);
  script.done++;
  return step;
}

function stepAt({ steps, done }: Script): StepDetails {
  let left = done;
  for (const step of steps) {
    left -= step.times ?? 1;
    if (left < 0) return step;
  }
  return steps.at(-1)!;
}
