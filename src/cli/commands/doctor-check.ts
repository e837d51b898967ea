/** One result of `opsd doctor`, and the requests of its checks. */
import { text } from 'node:stream/consumers';
import type { IncomingMessage } from 'node:http';
import { clientOf, type ClientPairFiles } from '#foundation/platform/client-pair.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { openAgent } from '#foundation/platform/http-agents.ts';
import { keepAlive } from '#foundation/platform/clock.ts';
import { withTimeout } from '#foundation/platform/sleep.ts';
import type { CliIo } from '../command.ts';

export interface Check {
  /** Name of the check: `token`, `clock`, `store`. */
  readonly check: string;
  /** Account, URL or file. */
  readonly subject?: string;
  readonly state: 'ok' | 'finding' | 'skipped';
  readonly result: string;
  /** Next step of a finding. */
  readonly fix?: string;
}

export type CheckResult = Omit<Check, 'check' | 'subject'>;

export const ok = (result: string): CheckResult => ({ state: 'ok', result });
export const skippedCheck = (result: string): CheckResult => ({ state: 'skipped', result });
export const finding = (result: string, fix: string): CheckResult => ({ state: 'finding', result, fix });

const TIMEOUT_MS = 5_000;

export type Reached = { readonly status: number; readonly text: string } | { readonly error: string };

/** Sends a request without credentials, and follows no redirect. */
export async function reach(
  url: string,
  method: 'GET' | 'HEAD',
  { clock, signal }: CliIo,
  files: Partial<ClientPairFiles> = {},
): Promise<Reached> {
  using _alive = keepAlive();
  try {
    const { request, agent } = await openAgent(new URL(url).protocol, {});
    return await withTimeout(clock, TIMEOUT_MS, signal, async (within) => {
      const pair = clientOf(files).client?.();
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        const sent = request(url, { method, agent, signal: within, timeout: TIMEOUT_MS, ...pair }, resolve);
        sent.on('error', reject).end();
      });
      return { status: response.statusCode ?? 0, text: await text(response) };
    });
  } catch (error) {
    signal.throwIfAborted();
    return { error: errorMessage(error) };
  }
}
