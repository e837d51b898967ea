/**
 * The last requests to both APIs, for tests that ask what their software did. Credentials are never kept: values of
 * headers and of query parameters whose name speaks of one, and user info of URLs, are replaced.
 */
import type { IncomingHttpHeaders } from 'node:http';

export interface RecordedRequest {
  /** Grows by one with every request. */
  readonly sequence: number;
  /** Epoch milliseconds of the service's clock, when the answer was ready. */
  readonly at: number;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Absent when no operation was meant. */
  readonly operation?: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly bodyBytes: number;
  readonly status: number;
  /** True when a fault kept the answer back. */
  readonly lost?: true;
}

export interface RecordedFilter {
  readonly operation?: string | undefined;
  /** Only later ones than this sequence. */
  readonly after?: number | undefined;
}

const HIDDEN = '[hidden]';
const SECRET_NAME = /authori[sz]ation|cookie|token|secret|passw|api[-_]?key|credential|signature/i;

export class RequestRecorder {
  readonly #keep: number;
  #records: RecordedRequest[] = [];
  #sequence = 0;

  constructor(keep: number) {
    this.#keep = keep;
  }

  record(request: Omit<RecordedRequest, 'sequence'>): void {
    const { headers, path, ...rest } = request;
    const sequence = ++this.#sequence;
    this.#records.push({ sequence, ...rest, path: hidePath(path), headers: hideHeaders(headers) });
    // In halves: an array that loses its first element with every new one would be copied each time.
    if (this.#records.length >= 2 * this.#keep) this.#records = this.#records.slice(-this.#keep);
  }

  /** Oldest first. */
  list({ operation, after = 0 }: RecordedFilter = {}): readonly RecordedRequest[] {
    return this.#records
      .slice(-this.#keep)
      .filter((record) => record.sequence > after && (operation === undefined || record.operation === operation));
  }

  clear(): void {
    this.#records = [];
  }
}

function hideHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const shown: IncomingHttpHeaders = {};
  for (const [name, value] of Object.entries(headers)) {
    shown[name] = SECRET_NAME.test(name)
      ? HIDDEN
      : Array.isArray(value)
        ? value.map(hidePath)
        : value && hidePath(value);
  }
  return shown;
}

/** Without user info, and without the values of parameters that speak of a credential. */
function hidePath(text: string): string {
  return text
    .replaceAll(/(:(?:\/|%2f){2})[^/?#\s]*?(?:@|%40)/gi, `$1${HIDDEN}@`)
    .replaceAll(/([?&]|%3f|%26)([^=&?#\s]+?)(=|%3d)([^&#\s]*)/gi, (whole, mark: string, name: string, equals: string) =>
      SECRET_NAME.test(name) ? `${mark}${name}${equals}${HIDDEN}` : whole,
    );
}
