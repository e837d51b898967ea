/** Headers of a stored message that its destination received, and that a repeated message must have as well. */

/** Headers of one HTTP request, and of the parties that passed it on. */
export const OF_TRANSPORT =
  /^(?:accept|accept-encoding|cdn-loop|cf-.*|connection|content-length|expect|forwarded|host|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|user-agent|via|x-forwarded-.*|x-real-ip)$/;

/**
 * Services list the forwarded headers with their prefix beside the others, or without it.
 *
 * @param header names with texts or lists of texts
 * @param brand brand prefix of the service's own headers
 * @returns undefined if a value is redacted or is no text
 */
export function forwardedHeaders(header: unknown, brand: string): Readonly<Record<string, string>> | undefined {
  const [own, forward] = [`${brand}-`.toLowerCase(), `${brand}-forward-`.toLowerCase()];
  const all = Object.entries((header ?? {}) as Readonly<Record<string, unknown>>);
  const isMarked = all.some(([name]) => name.toLowerCase().startsWith(forward));
  const found: Record<string, string> = {};
  for (const [name, value] of all) {
    const lower = name.toLowerCase();
    const isForwarded = isMarked ? lower.startsWith(forward) || lower === 'content-type' : !lower.startsWith(own);
    // An unmarked credential may be the publisher's.
    if (!isForwarded || lower === 'authorization' || OF_TRANSPORT.test(lower)) continue;
    const texts = [value].flat();
    if (!texts.every((text): text is string => typeof text === 'string' && !text.startsWith('REDACTED:')))
      return undefined;
    found[lower.startsWith(forward) ? name.slice(forward.length) : name] = texts.join(', ');
  }
  return found;
}
