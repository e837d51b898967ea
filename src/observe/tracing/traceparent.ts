/** Parses the W3C `traceparent` header strictly. An invalid header is ignored. */

export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
}

const FORMAT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/**
 * Parses `00-<32 hex>-<16 hex>-<2 hex>` in lower case. A later version may continue after another hyphen. Version ff,
 * ids of all zeros and text after version 00's four fields are invalid.
 */
export function parseTraceparent(header: string): TraceParent | undefined {
  const match = FORMAT.exec(header);
  if (match === null) return undefined;
  const [, version, traceId, spanId, flags, more] = match;
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId!) || /^0+$/.test(spanId!)) return undefined;
  return { traceId: traceId!, spanId: spanId!, sampled: (Number.parseInt(flags!, 16) & 1) === 1 };
}
