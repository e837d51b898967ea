/** A span as it is made here, before any encoding. Times are epoch milliseconds. */

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
  /** The parent is a span of somebody else. */
  readonly isParentRemote?: boolean;
  readonly name: string;
  readonly kind: keyof typeof SPAN_KINDS;
  readonly startMs: number;
  readonly endMs: number;
  readonly isError: boolean;
  /** Attributes that spans made one after the other share: one list for all of them, before their own. */
  readonly common: Attributes;
  /** Its own. What is not known is undefined, and is not sent. */
  readonly attributes: readonly (Attribute | undefined)[];
  readonly links: readonly SpanLink[];
}

/** All attributes of a span that are known, in the order in which they are sent. */
export function attributesOf({ common, attributes }: Span): Attributes {
  return [...common, ...attributes.filter((attribute) => attribute !== undefined)];
}

/** What the spans of a request have in common. */
export interface SpanHead {
  readonly resource: Attributes;
  readonly scope: { readonly name: string; readonly version: string };
  /** Absent in batches that an earlier version stored. */
  readonly schemaUrl?: string;
}

/** Where an encoded span lies among others. */
export interface SpanPlace {
  readonly start: number;
  readonly end: number;
}

/** Spans that were encoded before. */
export interface EncodedSpans {
  readonly bytes: Buffer;
  readonly places: readonly SpanPlace[];
}

const SAMPLED = 1;
/** OTLP: whether the parent, or the linked span, is remote is known; and that it is. */
const REMOTE_KNOWN = 0x100;
const REMOTE = 0x200;

/** Whatever is sent is sampled. */
export function spanFlags({ isParentRemote }: Span): number {
  return SAMPLED | REMOTE_KNOWN | (isParentRemote === true ? REMOTE : 0);
}

export function linkFlags({ sampled }: SpanLink): number {
  return (sampled ? SAMPLED : 0) | REMOTE_KNOWN | REMOTE;
}
