/** Headers of a stored message that its destination received, and that a repeated message must have as well. */

/** Headers of one HTTP request, and of the parties that passed it on. */
const OF_TRANSPORT =
  /^(?:accept|accept-encoding|cdn-loop|cf-.*|connection|content-length|expect|forwarded|host|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|user-agent|via|x-forwarded-.*|x-real-ip)$/;

/**
 * Returns the headers by name. The interface does not say which ones the service stores. With a setting of the service
 * among them, they are those of the publish request: only its forwarded headers reach the destination, not its
 * credentials. Otherwise they are those of the delivery. The service itself adds the settings of runs.
 *
 * @param header names with texts or lists of texts
 * @param prefix prefix of the service's own headers
 * @param isOfPublisher returns true for an unmarked header, by its lower-case name, that may be a credential of the publisher
 * @returns undefined if a value is redacted or is no text
 */
export function forwardedHeaders(
  header: unknown,
  prefix: string,
  isOfPublisher: (name: string, text: string) => boolean,
): Readonly<Record<string, string>> | undefined {
  const own = prefix.toLowerCase();
  const all = Object.entries((header ?? {}) as Readonly<Record<string, unknown>>);
  const names = all.map(([name]) => name.toLowerCase());
  const isRequest = names.some((name) => name.startsWith(own) && !name.startsWith(`${own}workflow-`));
  const found: Record<string, string> = {};
  for (const [name, value] of all) {
    const lower = name.toLowerCase();
    const isMarked = lower.startsWith(`${own}forward-`);
    const isOther = lower !== 'content-type' && (isRequest || lower.startsWith(own) || OF_TRANSPORT.test(lower));
    const texts = [value].flat();
    if (!isMarked && (isOther || isOfPublisher(lower, texts.join(', ')))) continue;
    if (!texts.every((text) => typeof text === 'string' && !text.startsWith('REDACTED:'))) return undefined;
    found[isMarked ? name.slice(`${own}forward-`.length) : name] = texts.join(', ');
  }
  return found;
}
