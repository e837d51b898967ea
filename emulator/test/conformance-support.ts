/** Requests with management credentials. */
import { MANAGER, type World } from './world.ts';

export type Json = Readonly<Record<string, unknown>>;

/** Sends a request to the management API. */
export function manage<T = Json>(service: World, method: string, path: string, body?: object) {
  return service.call<T>(method, path, {
    headers: MANAGER,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}
