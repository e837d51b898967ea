/**
 * Keeps the last requests to both APIs, so that tests can check their software's requests. Credentials are replaced:
 * values of headers and query parameters whose name suggests a credential, and user info of URLs.
 */
import type { ApiRequest, RequestHeaders } from '../types/public.ts';

export interface RecordedRequest extends ApiRequest {
  /** Increases by one with every request. */
  readonly sequence: number;
}

export interface RecordedFilter {
  readonly operation?: string | undefined;
  /** Returns only requests after this sequence. */
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
    // Halves the array when it is twice the size. Removing one element per request would copy the array each time.
    if (this.#records.length >= 2 * this.#keep) this.#records = this.#records.slice(-this.#keep);
  }

  /** Returns the requests, oldest first. */
  list({ operation, after = 0 }: RecordedFilter = {}): readonly RecordedRequest[] {
    return this.#records
      .slice(-this.#keep)
      .filter((record) => record.sequence > after && (operation === undefined || record.operation === operation));
  }

  clear(): void {
    this.#records = [];
  }
}

function hideHeaders(headers: RequestHeaders): RequestHeaders {
  const shown: Record<string, string | readonly string[] | undefined> = {};
  for (const [name, value] of Object.entries(headers)) {
    const visible = typeof value === 'string' ? hidePath(value) : value?.map(hidePath);
    shown[name] = SECRET_NAME.test(name) ? HIDDEN : visible;
  }
  return shown;
}

/** Removes user info, and the values of parameters with a name that suggests a credential. */
function hidePath(text: string): string {
  return text
    .replaceAll(/(:(?:\/|%2f){2})[^/?#\s]*?(?:@|%40)/gi, `$1${HIDDEN}@`)
    .replaceAll(/([?&]|%3f|%26)([^=&?#\s]+?)(=|%3d)([^&#\s]*)/gi, (whole, mark: string, name: string, equals: string) =>
      SECRET_NAME.test(name) ? `${mark}${name}${equals}${HIDDEN}` : whole,
    );
}
