/** Returns the host and port of a URL as in `server.address` and `server.port`. */
export function serverOf(text: string | undefined): { readonly host?: string; readonly port?: number } {
  const url = text === undefined ? null : URL.parse(text);
  if (url === null || url.hostname === '') return {};
  const port = url.port !== '' ? Number(url.port) : url.protocol === 'https:' ? 443 : 80;
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port };
}
