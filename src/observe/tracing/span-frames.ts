/**
 * Encoded spans as stored. The start time precedes each span, so that spans that are too old for the receiver can be
 * omitted without changing the others.
 */
import type { SpanBatch } from '../aggregation/span-batch.ts';
import { jsonRequest, jsonSpan } from './otlp-json.ts';
import { protobufRequest, writeSpan, type WrittenCommon } from './otlp-protobuf.ts';
import type { Span, SpanHead } from './span.ts';
import { WireWriter } from './wire-writer.ts';

/** Size of the frame head: a double for the start, and a length. */
const FRAME_HEAD = 12;

export class FrameWriter {
  readonly #protocol: SpanBatch['protocol'];
  readonly #writer = new WireWriter();
  readonly #written: WrittenCommon = { common: undefined, at: 0, length: 0 };
  #spans = 0;

  constructor(protocol: SpanBatch['protocol']) {
    this.#protocol = protocol;
  }

  get spans(): number {
    return this.#spans;
  }

  add(span: Span): void {
    const writer = this.#writer;
    writer.double(span.startMs);
    const length = writer.reserveUint32();
    if (this.#protocol === 'http/json') writer.raw(Buffer.from(jsonSpan(span)));
    else writeSpan(writer, span, this.#written);
    writer.setUint32(length, writer.length - length - 4);
    this.#spans += 1;
  }

  /** Returns the added spans and empties the writer. */
  take(): { readonly body: Uint8Array; readonly spans: number } {
    const spans = this.#spans;
    this.#spans = 0;
    this.#written.common = undefined;
    return { body: this.#writer.take(), spans };
  }
}

export interface SpanRequest {
  /** Undefined if no span of the batch can be sent. */
  readonly body: Uint8Array | undefined;
  readonly spans: number;
  /** Number of omitted spans that started before `notBefore`. */
  readonly tooOld: number;
}

/** @param notBefore epoch milliseconds */
export function spanRequest(batch: Pick<SpanBatch, 'protocol' | 'head' | 'body'>, notBefore: number): SpanRequest {
  const spans: Buffer[] = [];
  let tooOld = 0;
  const bytes = Buffer.from(batch.body.buffer, batch.body.byteOffset, batch.body.byteLength);
  for (let at = 0; at < bytes.length;) {
    const startMs = bytes.readDoubleLE(at);
    const end = at + FRAME_HEAD + bytes.readUInt32LE(at + 8);
    if (startMs < notBefore) tooOld += 1;
    else spans.push(bytes.subarray(at + FRAME_HEAD, end));
    at = end;
  }
  if (spans.length === 0) return { body: undefined, spans: 0, tooOld };
  const write = batch.protocol === 'http/json' ? jsonRequest : protobufRequest;
  return { body: write(JSON.parse(batch.head) as SpanHead, spans), spans: spans.length, tooOld };
}
