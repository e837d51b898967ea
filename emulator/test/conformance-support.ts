/** Requests with management credentials. */
import type { World } from './world.ts';

export type Json = Readonly<Record<string, unknown>>;

const MANAGER = { Authorization: `Basic ${btoa('ops@example.com:pass:word')}` };

/** Sends a request to the management API. */
export function manage<T = Json>(service: World, method: string, path: string, body?: object) {
  return service.call<T>(method, path, {
    headers: MANAGER,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}
