/** Responds to one request by a step of a script. */
import type { ServerResponse } from 'node:http';
import { nextTurn } from '#foundation/platform/next-turn.ts';
import { headerValue } from '../state/header-text.ts';
import type { HeldAttempts } from './held-attempts.ts';
import type { StepDetails } from '../types/public.ts';

/** Number of parts of a slow body. */
const PIECES = 10;

interface Answering {
  readonly attempt: string;
  readonly held: HeldAttempts;
  readonly response: ServerResponse;
  /** Header that, with status 489, asks the service not to retry. */
  readonly nonRetryableHeader: string;
}

export async function playStep(step: StepDetails, answering: Answering): Promise<void> {
  const { attempt, held, response } = answering;
  if (response.destroyed) return;
  await held.wait(attempt, step.afterMs ?? 0);
  if (step.fault === 'hang') held.hang(attempt);
  // Another request may have taken the previous step in between. If this step is a refusal, it breaks the connection.
  else if (step.fault === 'reset' || step.fault === 'refuse') response.socket?.resetAndDestroy();
  else await answer(step, answering);
}

async function answer(step: StepDetails, { attempt, held, response, nonRetryableHeader }: Answering): Promise<void> {
  const isCut = step.fault === 'cut';
  const body = Buffer.from(step.body ?? '');
  // A response without a body is complete with its headers.
  const bodyMs = body.length === 0 ? 0 : (step.bodyMs ?? 0);
  const given = {
    ...step.headers,
    ...(step.retryAfter !== undefined && { 'Retry-After': String(step.retryAfter) }),
  };
  response.writeHead(step.status ?? 200, {
    ...Object.fromEntries(Object.entries(given).map(([name, value]) => [name, headerValue(value)])),
    ...(step.nonRetryable === true && { [nonRetryableHeader]: 'true' }),
    // One byte more than the body, so that every cut is detectable.
    'Content-Length': body.length + (isCut ? 1 : 0),
  });
  response.flushHeaders();
  if (bodyMs > 0) await arrival();
  const end = isCut ? Math.floor(body.length / 2) : body.length;
  const pieces = bodyMs === 0 ? 1 : PIECES;
  for (let piece = 0; piece < pieces && !response.destroyed; piece++) {
    await held.wait(attempt, bodyMs / pieces);
    response.write(body.subarray(Math.floor((end * piece) / pieces), Math.floor((end * (piece + 1)) / pieces)));
    if (bodyMs > 0) await arrival();
  }
  // The written bytes are sent before the connection breaks.
  if (isCut) response.socket?.destroySoon();
  else response.end();
}

/** Waits two turns of the event loop. The receiver runs in this process and has then read the written bytes. */
async function arrival(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) await nextTurn();
}
