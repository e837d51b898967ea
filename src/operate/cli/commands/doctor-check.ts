/** One result of `opsd doctor`, and the requests of its checks. */
import { errorMessage } from '#foundation/platform/error-message.ts';
import { keepAlive } from '#foundation/platform/keep-alive.ts';
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

const TIMEOUT_MS = 5_000;

export type Reached = { readonly status: number; readonly text: string } | { readonly error: string };

/** Sends a request without credentials, and follows no redirect. */
export async function reach(url: string, method: 'GET' | 'HEAD', { clock, signal }: CliIo): Promise<Reached> {
  using _alive = keepAlive();
  try {
    return await withTimeout(clock, TIMEOUT_MS, signal, async (within) => {
      const response = await fetch(url, { method, redirect: 'manual', signal: within });
      return { status: response.status, text: await response.text() };
    });
  } catch (error) {
    signal.throwIfAborted();
    const { cause } = error as { readonly cause?: unknown };
    return { error: errorMessage(cause instanceof Error ? cause : error) };
  }
}
