/** Listen addresses as text, without the schemas, which take 10 MB to load. */

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

export const LISTEN_FORM = /^(\[[0-9a-fA-F:.]+\]|[^:[\]\s/]*):\d{1,}$/;

export const HIGHEST_PORT = 65_535;

/** Splits a text of that form. Without a host, the address is all addresses of the machine. */
export function splitListen(text: string): ListenAddress {
  const colon = text.lastIndexOf(':');
  const host = text.slice(0, colon).replace(/^\[|\]$/g, '');
  return { host: host === '' ? '::' : host, port: Number(text.slice(colon + 1)) };
}
