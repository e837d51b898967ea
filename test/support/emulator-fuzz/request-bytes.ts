/** Converts the parts of a request to bytes, correctly framed or not. */
import type { Draft, Framing } from './draft.ts';

export function bytesOf(draft: Draft): Buffer {
  const { framing } = draft;
  const path = draft.operation.path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => draft.path.get(name)!);
  const query = draft.query.length === 0 ? '' : `?${draft.query.join('&')}`;
  const body = draft.body ?? jsonOf(draft);
  const head = [
    `${draft.method} ${draft.spoilPath(path)}${query} ${draft.version}`,
    // Placed first, so that no later header can override it: each case has its own connection.
    ...(framing === 'garbage-after' ? [] : ['Connection: close']),
    ...(draft.host ? ['Host: x'] : []),
    ...(draft.authorization === undefined ? [] : [`Authorization: ${draft.authorization}`]),
    ...lengthsOf(framing, body.length),
    ...draft.headers,
  ].join('\r\n');
  const before =
    framing === 'chunks' || framing === 'length-and-chunks' ? 'zz\r\n' : framing === 'chunks-cut' ? 'fffff\r\n' : '';
  const after = framing === 'garbage-after' ? '\u0000\u0001 garbage\r\n\r\n' : '';
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n${before}`, 'latin1'), body, Buffer.from(after, 'latin1')]);
}

function jsonOf({ operation, fields }: Draft): Buffer {
  if (typeof operation.body !== 'object') return Buffer.alloc(0);
  return Buffer.from(`{${[...fields].map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}`);
}

function lengthsOf(framing: Framing, length: number): readonly string[] {
  switch (framing) {
    case 'good':
    case 'garbage-after':
      return [`Content-Length: ${length}`];
    case 'truncated':
      return [`Content-Length: ${length + 100}`];
    case 'chunks':
    case 'chunks-cut':
      return ['Transfer-Encoding: chunked'];
    case 'two-lengths':
      return [`Content-Length: ${length}`, `Content-Length: ${length + 1}`];
    case 'negative-length':
      return ['Content-Length: -1'];
    case 'absurd-length':
      return [`Content-Length: ${'9'.repeat(30)}`];
    case 'length-and-chunks':
      return [`Content-Length: ${length}`, 'Transfer-Encoding: chunked'];
  }
}
