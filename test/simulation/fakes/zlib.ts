/** `node:zlib` without threads: each call returns its result in the same turn. */
import * as zlib from 'node:zlib';

export * from 'node:zlib';

type Done = (error: Error | null, result: Buffer) => void;

function later<O>(work: (bytes: zlib.InputType, options: O) => Buffer) {
  return (bytes: zlib.InputType, options: O | Done, done?: Done): void => {
    const isShort = typeof options === 'function';
    const call = isShort ? (options as Done) : done!;
    let result: Buffer;
    try {
      result = work(bytes, (isShort ? {} : options) as O);
    } catch (error) {
      process.nextTick(call, error);
      return;
    }
    process.nextTick(call, null, result);
  };
}

export const gzip = later<zlib.ZlibOptions>(zlib.gzipSync);
export const gunzip = later<zlib.ZlibOptions>(zlib.gunzipSync);
export const deflateRaw = later<zlib.ZlibOptions>(zlib.deflateRawSync);
