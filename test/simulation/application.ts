/** Requests of the applications that use an account. */
import type { RunningEmulator } from '#emulator/emulator.ts';
import { exchange, type Answered } from './exchange.ts';
import type { Process } from './loop.ts';

export interface Application {
  readonly process: Process;
  readonly emulator: RunningEmulator;
  /** Id at the service. */
  readonly account: string;
}

interface Posted {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
}

export function post(by: Application, path: string, { headers = {}, body = {} }: Posted = {}): Promise<Answered> {
  return send(by, 'POST', path, { headers, body: JSON.stringify(body) });
}

export function get(by: Application, path: string): Promise<Answered> {
  return send(by, 'GET', path, { headers: {} });
}

function send(
  { process, emulator, account }: Application,
  method: string,
  path: string,
  { headers, body }: { readonly headers: Readonly<Record<string, string>>; readonly body?: string },
): Promise<Answered> {
  const authorization = `Bearer ${emulator.accounts.byId(account)!.token}`;
  return exchange(process, {
    url: emulator.url,
    method,
    path,
    headers: { authorization, ...headers },
    ...(body !== undefined && { body }),
  });
}
