/** The W3C `traceparent` header, read strictly: what does not follow the rules is no context. */

export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
}

const FORMAT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/**
 * `00-<32 hex>-<16 hex>-<2 hex>`, lower case. A later version may go on after another hyphen; version ff, ids of zeroes
 * only and anything after version 00's four fields are refused.
 */
export function parseTraceparent(header: string): TraceParent | undefined {
  const match = FORMAT.exec(header);
  if (match === null) return undefined;
  const [, version, traceId, spanId, flags, more] = match;
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId!) || /^0+$/.test(spanId!)) return undefined;
  return { traceId: traceId!, spanId: spanId!, sampled: (Number.parseInt(flags!, 16) & 1) === 1 };
}
