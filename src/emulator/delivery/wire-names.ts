/** Header names: those of an installation, all built on one prefix (`Svc`), and how names are written in JSON. */
import type { HeaderPair } from '../state/message.ts';

export interface DeliveryHeaderNames {
  readonly messageId: string;
  readonly retried: string;
  readonly signature: string;
  readonly workflowRunId: string;
  readonly workflowFailure: string;
  readonly flowControlKey: string;
  /** In lower case, as answers' headers are kept. */
  readonly nonRetryable: string;
}

export function deliveryHeaderNames(prefix: string): DeliveryHeaderNames {
  return {
    messageId: `${prefix}-Message-Id`,
    retried: `${prefix}-Retried`,
    signature: `${prefix}-Signature`,
    workflowRunId: `${prefix}-Workflow-RunId`,
    workflowFailure: `${prefix}-Workflow-Failure`,
    flowControlKey: `${prefix}-Flow-Control-Key`,
    nonRetryable: `${prefix}-NonRetryable-Error`.toLowerCase(),
  };
}

/** In lower case: what only the service itself says of a delivery. */
export function ownHeaderNames(prefix: string): ReadonlySet<string> {
  const { messageId, retried, signature, workflowRunId, workflowFailure } = deliveryHeaderNames(prefix);
  return new Set([messageId, retried, signature, workflowRunId, workflowFailure].map((name) => name.toLowerCase()));
}

/** `x-my-header` as `X-My-Header`: Node gives header names in lower case. */
export function canonicalHeaderName(name: string): string {
  return name.replaceAll(/(^|-)([a-z])/g, (_whole, dash: string, letter: string) => dash + letter.toUpperCase());
}

/** A forwarded content type is the caller's more exact wish. */
export function withContentType(contentType: string, forwarded: readonly HeaderPair[]): readonly HeaderPair[] {
  const own = forwarded.some(([name]) => name === 'Content-Type');
  return own ? forwarded : [['Content-Type', contentType], ...forwarded];
}

/** Headers of an answer as the service tells of them: each name with an array of values. */
export function headersAsArrays(
  headers: Readonly<Record<string, string | readonly string[]>>,
): Record<string, readonly string[]> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      canonicalHeaderName(name),
      typeof value === 'string' ? [value] : value,
    ]),
  );
}
