/** Health and readiness of the daemon, on its address and on a separate one. */
import type { Clock } from '#foundation/platform/clock.ts';
import type { Logger } from '#foundation/platform/logger.ts';
import type { ListenAddress } from '#foundation/settings/listen-address.ts';
import { startListener, type ListenerRequest, type RunningServer } from './http-listener.ts';
import { textReply, type Reply } from './reply.ts';

export interface ProbeDeps {
  /** True if the scheduler is running; independent of the service. */
  health(): { readonly healthy: boolean; readonly detail: string };
  readiness(): { readonly ready: boolean; readonly detail: string };
}

type Probe = (context: { readonly deps: ProbeDeps }) => Reply;

export function healthy({ deps }: { readonly deps: ProbeDeps }): Reply {
  const { healthy, detail } = deps.health();
  return textReply(healthy ? 200 : 503, healthy ? `healthy: ${detail}` : `not healthy: ${detail}`);
}

export function ready({ deps }: { readonly deps: ProbeDeps }): Reply {
  const { ready, detail } = deps.readiness();
  return textReply(ready ? 200 : 503, ready ? `ready: ${detail}` : `not ready: ${detail}`);
}

const PROBES: ReadonlyMap<string, Probe> = new Map([
  ['/-/healthy', healthy],
  ['/-/ready', ready],
]);

/** @throws {ListenError} with the address, the reason, and the fix */
export function startProbes(
  deps: ProbeDeps & { readonly clock: Clock; readonly logger: Logger },
  listen: ListenAddress,
): Promise<RunningServer> {
  const { clock, logger } = deps;
  return startListener({ clock, logger, listen, setting: 'server.probes.listen', answer });

  function answer({ path, request }: ListenerRequest): Promise<Reply> {
    const probe = PROBES.get(path);
    if (probe === undefined)
      return Promise.resolve(textReply(404, `Not found. Available paths: ${[...PROBES.keys()].join(' ')}`));
    if (request.method === 'GET' || request.method === 'HEAD') return Promise.resolve(probe({ deps }));
    return Promise.resolve({ ...textReply(405, 'Probes accept only GET and HEAD.'), headers: { Allow: 'GET, HEAD' } });
  }
}
