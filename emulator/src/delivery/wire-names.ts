/** Header names of an installation, all with one prefix (`Svc`), and their form in JSON. */
import { headerTexts } from '../state/header-text.ts';
import type { HeaderPair } from '../state/message.ts';

export interface DeliveryHeaderNames {
  readonly messageId: string;
  readonly retried: string;
  readonly signature: string;
  readonly workflowRunId: string;
  readonly workflowFailure: string;
  readonly flowControlKey: string;
  /** In lower case, as the headers of responses are kept. */
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

/** Returns, in lower case, the headers that only the service sets on a delivery. */
export function ownHeaderNames(prefix: string): ReadonlySet<string> {
  const { messageId, retried, signature, workflowRunId, workflowFailure } = deliveryHeaderNames(prefix);
  return new Set([messageId, retried, signature, workflowRunId, workflowFailure].map((name) => name.toLowerCase()));
}

/** Formats `x-my-header` as `X-My-Header`: Node provides header names in lower case. */
export function canonicalHeaderName(name: string): string {
  return name.replaceAll(/(^|-)([a-z])/g, (_whole, dash: string, letter: string) => dash + letter.toUpperCase());
}

/** Adds the content type. A forwarded content type takes precedence. */
export function withContentType(contentType: string, forwarded: readonly HeaderPair[]): readonly HeaderPair[] {
  const own = forwarded.some(([name]) => name === 'Content-Type');
  return own ? forwarded : [['Content-Type', contentType], ...forwarded];
}

/** Returns headers in their JSON form: each name with an array of values. */
export function headersAsArrays(
  headers: Readonly<Record<string, string | readonly string[]>>,
): Record<string, readonly string[]> {
  return Object.fromEntries(
    Object.entries(headerTexts(headers)).map(([name, value]) => [
      canonicalHeaderName(name),
      typeof value === 'string' ? [value] : value,
    ]),
  );
}
