/** A response to bytes that are not a request: Node has no response object for it. */
import { STATUS_CODES } from 'node:http';

/** Returns the whole response, which ends the connection. */
export function rawResponse(status: number, headers: Readonly<Record<string, string>>, body: string): string {
  const all = { ...headers, 'Content-Length': Buffer.byteLength(body), Connection: 'close' };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`;
}
