/** Span before its encoding. Times are epoch milliseconds. */

/** `STATUS_CODE_ERROR` of OTLP. */
export const STATUS_ERROR = 2;

export const SPAN_KINDS = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 } as const;

export type AttributeValue = string | number | boolean;

export type Attribute = readonly [key: string, value: AttributeValue];

export type Attributes = readonly Attribute[];

export interface SpanLink {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
}

export interface Span {
  /** 32 and 16 lower-case hex digits. */
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  /** True if the parent is a span of another process. */
  readonly isParentRemote?: boolean;
  readonly name: string;
  readonly kind: keyof typeof SPAN_KINDS;
  readonly startMs: number;
  readonly endMs: number;
  readonly isError: boolean;
  /** Attributes that consecutive spans share. They are one list and precede the span's own. */
  readonly common: Attributes;
  /** Attributes of this span. Undefined ones are unknown and are not sent. */
  readonly attributes: readonly (Attribute | undefined)[];
  readonly links: readonly SpanLink[];
}

/** Returns all known attributes of a span in the order of sending. */
export function attributesOf({ common, attributes }: Span): Attributes {
  return [...common, ...attributes.filter((attribute) => attribute !== undefined)];
}

/** Common parts of the spans of a request. */
export interface SpanHead {
  readonly resource: Attributes;
  readonly scope: { readonly name: string; readonly version: string };
  readonly schemaUrl: string;
}

const SAMPLED = 1;
/** OTLP flags: it is known if the parent or linked span is remote; and it is remote. */
const REMOTE_KNOWN = 0x100;
const REMOTE = 0x200;

/** Returns the flags of a span. Every sent span is sampled. */
export function spanFlags({ isParentRemote }: Span): number {
  return SAMPLED | REMOTE_KNOWN | (isParentRemote === true ? REMOTE : 0);
}

export function linkFlags({ sampled }: SpanLink): number {
  return (sampled ? SAMPLED : 0) | REMOTE_KNOWN | REMOTE;
}

/** Returns the host and port of a URL as in `server.address` and `server.port`. */
export function serverOf(text: string | undefined): { readonly host?: string; readonly port?: number } {
  const url = text === undefined ? null : URL.parse(text);
  if (url === null || url.hostname === '') return {};
  const port = url.port !== '' ? Number(url.port) : url.protocol === 'https:' ? 443 : 80;
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port };
}
