/**
 * Listener for external senders: Alertmanager's notifications, and the service's callbacks. It is separate from metrics
 * and pages because callbacks come from the Internet. A body is read only after its sender has sent a valid token.
 * Responses never quote a request, and 202 means that it is stored.
 */
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import type { HookRefusal } from '#foundation/events/events.ts';
import type { Logger } from '#foundation/platform/logger.ts';
import type { Secret } from '#foundation/platform/secret.ts';
import type { ListenAddress } from '#foundation/settings/listen-address.ts';
import { takeAlerts } from './alert-hook.ts';
import { SignInLimit } from '../http/sign-in-limit.ts';
import { requireBearer } from '../http/bearer.ts';
import { takeCallback } from './callback-hook.ts';
import { createSignatureCheck, type SignatureCheck } from './callback-signature.ts';
import { canaryHandlers, type Bounded, type CanaryHook } from './canary-hook.ts';
import { readReport, takeDeploy } from './deploy-hook.ts';
import { createDeploySignature } from './deploy-signature.ts';
import type { HookDeps } from './hook-deps.ts';
import { readHookJson, type HookBody } from './hook-json.ts';
import { startListener, type ListenerRequest, type RunningServer } from '../http/http-listener.ts';
import { HttpError, textReply, type ErrorCode, type Reply } from '../http/reply.ts';

export interface Hooks {
  /** By the name in the path. */
  readonly alertmanager: ReadonlyMap<
    string,
    {
      readonly token: Secret;
      /** Accounts of alerts without a label `account`. */
      readonly withoutAccount: readonly string[];
    }
  >;
  /** By account. */
  readonly callbacks: ReadonlyMap<string, CallbackHook>;
  readonly canaries: readonly CanaryHook[];
  /** Absent: reports of deploys are not accepted. At least one secret is present. */
  readonly deploy?: { readonly token?: Secret | undefined; readonly signingKeys?: Secret | undefined };
}

export interface CallbackHook {
  readonly token: Secret;
  /** Absent: signatures are not checked. */
  readonly signature?: SignatureCheck;
  /** Prefix of the service's own headers. */
  readonly headerPrefix: string;
  readonly maxBodyBytes: number;
}

/** Limit of a notification: a thousand alerts of long rules are 1.5 MB. */
const MAX_NOTIFICATION_BYTES = 4_194_304;
const MAX_REPORT_BYTES = 65_536;
/** Maximum number of bodies in memory at the same time. */
const MAX_BODIES = 16;
/** Window for failure callbacks, which come in bursts: all callbacks in it share one run of a policy. */
const GATHER_MS = 10_000;

type Handler = (asked: ListenerRequest) => Promise<void>;
type Place = {
  readonly hook: 'alertmanager' | 'callbacks' | 'canary' | 'deploy';
  readonly name: string;
  readonly handle: Handler;
};

export interface RunningHooks extends RunningServer {
  /** Replaces the hooks; the address stays open. */
  take(hooks: Hooks): void;
}

/** @throws {ListenError} with the address, the reason, and the fix */
export async function startHooks(given: HookDeps, hooks: Hooks, listen: ListenAddress): Promise<RunningHooks> {
  const { clock, logger, events, security } = given;
  const deps: HookDeps = {
    ...given,
    run(name, trigger) {
      const account = given.policies().find((policy) => policy.name === name)?.account ?? '';
      events.emit({ type: 'policy.triggered', policy: name, account, trigger });
      given.run(name, trigger);
    },
  };
  const gathering = gatherer(deps);
  const bounded = bodyLimit();

  const read = (asked: ListenerRequest, maxBytes: number): Promise<HookBody> =>
    bounded(() => readHookJson(asked.request, maxBytes));

  const limit = new SignInLimit(clock);
  const requireToken = ({ request }: ListenerRequest, token: Secret): Promise<void> =>
    requireBearer(request.headers.authorization, token, (given) =>
      limit.wrongToken(request.socket.remoteAddress, given),
    );

  function placesOf({ alertmanager, callbacks, canaries, deploy }: Hooks): ReadonlyMap<string, Place> {
    const found = new Map<string, Place>();
    for (const [name, { token, withoutAccount }] of alertmanager) {
      found.set(`/hooks/alertmanager/${name}`, {
        hook: 'alertmanager',
        name,
        async handle(asked) {
          await requireToken(asked, token);
          const { value } = await read(asked, MAX_NOTIFICATION_BYTES);
          await takeAlerts(deps, { receiver: name, withoutAccount }, value);
        },
      });
    }
    for (const [account, { token, signature, headerPrefix, maxBodyBytes }] of callbacks) {
      const verify = signature && createSignatureCheck(signature, clock);
      found.set(`/hooks/callbacks/${account}`, {
        hook: 'callbacks',
        name: account,
        async handle(asked) {
          const { headers } = asked.request;
          await requireToken(asked, token);
          const { bytes, value } = await read(asked, maxBodyBytes);
          const taken = verify?.({ signature: one(headers[`${headerPrefix}-Signature`.toLowerCase()]), body: bytes });
          const deadLetter = await takeCallback(deps, { account, headerPrefix, headers, value });
          if (deadLetter !== undefined) await gathering.add(deadLetter);
          taken?.();
        },
      });
    }
    if (deploy !== undefined) found.set('/hooks/deploy', deployPlace(deploy, { deps, requireToken, read }));
    for (const [path, handler] of canaryHandlers(canaries, { clock, inbox: given.canaries, bounded })) {
      found.set(path, { hook: 'canary', ...handler });
    }
    return found;
  }

  let places = placesOf(hooks);

  async function answer(asked: ListenerRequest): Promise<Reply> {
    const place = places.get(asked.path);
    if (place === undefined) {
      events.emit({ type: 'hook.answered', hook: 'other', code: 404 });
      return textReply(404, 'No hook at this path.');
    }
    const { hook, name, handle } = place;
    try {
      if (hook !== 'canary' && asked.request.method !== 'POST') {
        throw new HttpError(405, 'method_not_allowed', 'Hooks accept only POST.', { Allow: 'POST' });
      }
      await handle(asked);
      events.emit({ type: 'hook.answered', hook, name, code: 202 });
      return textReply(202, 'stored');
    } catch (error) {
      const refusal = error instanceof HttpError ? error : failed(error, place, logger);
      const { status: code, message, headers } = refusal;
      events.emit({ type: 'hook.answered', hook, name, code, refused: REFUSALS[refusal.code] ?? 'failed' });
      return { ...textReply(code, message), headers };
    }
  }

  const server = await startListener({ clock, logger, listen, setting: 'hooks.listen', answer, security });
  const close = async (): Promise<void> => {
    gathering[Symbol.dispose]();
    await server.close();
  };
  return {
    address: server.address,
    take: (next) => void (places = placesOf(next)),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Response to a failure of the store or of a file of secrets: not the sender's fault, so it must retry. */
function failed(error: unknown, { hook, name }: Place, logger: Logger): HttpError {
  logger.error({ hook, name, error: errorMessage(error) }, 'hook request failed');
  const message = 'The request could not be stored; retry. The daemon’s log has the reason.';
  return new HttpError(503, 'store_unavailable', message, { 'Retry-After': '10' });
}

interface PlaceTools {
  readonly deps: HookDeps;
  readonly requireToken: (asked: ListenerRequest, token: Secret) => Promise<void>;
  readonly read: (asked: ListenerRequest, maxBytes: number) => Promise<HookBody>;
}

function deployPlace(
  { token, signingKeys }: NonNullable<Hooks['deploy']>,
  { deps, requireToken, read }: PlaceTools,
): Place {
  const verify = signingKeys && createDeploySignature(signingKeys, deps.clock);
  return {
    hook: 'deploy',
    name: 'deploy',
    async handle(asked) {
      const signature = one(asked.request.headers['opsd-signature']);
      // A signature that is given must be valid, also with a token.
      const isSigned = verify !== undefined && (signature !== undefined || token === undefined);
      if (!isSigned) await requireToken(asked, token!);
      const { bytes, value } = await read(asked, MAX_REPORT_BYTES);
      const taken = isSigned ? verify(signature, bytes) : undefined;
      await takeDeploy(deps, readReport(value), 'hook');
      taken?.();
    },
  };
}

/** Returns a function that runs work with a body in memory, if not too many are. */
function bodyLimit(): Bounded {
  let bodies = 0;
  return async (work) => {
    if (bodies >= MAX_BODIES) {
      throw new HttpError(503, 'busy', 'Too many requests at the same time; retry.', { 'Retry-After': '1' });
    }
    bodies++;
    try {
      return await work();
    } finally {
      bodies--;
    }
  };
}

const REFUSALS: { readonly [C in ErrorCode]?: HookRefusal } = {
  method_not_allowed: 'method',
  unauthorized: 'unauthorized',
  not_found: 'unauthorized',
  bad_signature: 'signature',
  replay: 'replay',
  bad_request: 'malformed',
  too_large: 'too_large',
  busy: 'busy',
};

/** Runs the policies that wait for failure callbacks, once for all callbacks in a window. */
function gatherer(deps: HookDeps) {
  const { ledger, clock } = deps;
  const waiting = new Map<string, Disposable>();
  let isClosed = false;
  return {
    async add({ account, dlqId }: DeadLetter) {
      const key = `${account}/${dlqId}`;
      const trigger = { kind: 'callback', key } as const;
      for (const { name: policy, account: of, when } of deps.policies()) {
        if (of !== account || !('failureCallback' in when)) continue;
        // The service sends a callback again if it got no response.
        if (!(await ledger.recordTrigger({ policy, account, trigger, at: clock.now() }))) continue;
        // A stored trigger whose run does not start here has it at the next review.
        if (isClosed || waiting.has(policy)) continue;
        const timer = clock.after(GATHER_MS, () => {
          waiting.delete(policy);
          deps.run(policy, trigger);
        });
        waiting.set(policy, timer);
      }
    },
    [Symbol.dispose]() {
      isClosed = true;
      for (const timer of waiting.values()) timer[Symbol.dispose]();
      waiting.clear();
    },
  };
}

function one(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : undefined;
}
