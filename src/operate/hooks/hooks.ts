/**
 * The listener for what others tell the daemon: Alertmanager's notifications, and the service's callbacks. It is apart
 * from metrics and pages because callbacks come from the Internet. Nothing is read of a body before the caller has
 * shown a token, nothing of a request is quoted in an answer, and 202 means that it is in the store.
 */
import { errorMessage } from '#foundation/platform/error-message.ts';
import type { HookRefusal } from '#foundation/events/hook-events.ts';
import type { Secret } from '#foundation/platform/secret.ts';
import type { ListenAddress } from '#foundation/platform/settings.ts';
import { takeAlerts } from './alert-hook.ts';
import { requireBearer } from '../http/bearer.ts';
import { takeCallback } from './callback-hook.ts';
import { createSignatureCheck, type SignatureCheck } from './callback-signature.ts';
import type { HookDeps } from './hook-deps.ts';
import { readHookJson, type HookBody } from './hook-json.ts';
import { startListener, type Asked, type RunningServer } from '../http/http-listener.ts';
import { HttpError, text, type ErrorCode, type Reply } from '../http/reply.ts';

export interface Hooks {
  /** By the name in their path. */
  readonly alertmanager: ReadonlyMap<
    string,
    {
      readonly token: Secret;
      /** Accounts that an alert without a label `account` concerns. */
      readonly withoutAccount: readonly string[];
    }
  >;
  /** By account. */
  readonly callbacks: ReadonlyMap<string, CallbackHook>;
}

export interface CallbackHook {
  readonly token: Secret;
  /** Absent: signatures are not looked at. */
  readonly signature?: SignatureCheck;
  /** Brand prefix of the service's own headers. */
  readonly headerPrefix: string;
  readonly maxBodyBytes: number;
}

/** A thousand alerts of long rules are 1.5 MB. */
const MAX_NOTIFICATION_BYTES = 4_194_304;
/** Bodies that are in memory at the same time. */
const MAX_BODIES = 16;
/** Failure callbacks come in storms: those of so long after the first one are one run of a policy. */
const GATHER_MS = 10_000;

type Handler = (asked: Asked) => Promise<void>;
type Place = { readonly hook: 'alertmanager' | 'callbacks'; readonly name: string; readonly handle: Handler };

export interface RunningHooks extends RunningServer {
  /** Replaces the hooks; the address stays open. */
  take(hooks: Hooks): void;
}

/** @throws {ListenError} saying which address, why, and what to do */
export async function startHooks(given: HookDeps, hooks: Hooks, listen: ListenAddress): Promise<RunningHooks> {
  const { clock, logger, events } = given;
  const deps: HookDeps = {
    ...given,
    run(name, trigger) {
      const account = given.policies().find((policy) => policy.name === name)?.account ?? '';
      events.emit({ type: 'policy.triggered', policy: name, account, trigger });
      given.run(name, trigger);
    },
  };
  const gathering = gatherer(deps);
  let places = placesOf(hooks);
  let bodies = 0;

  async function read(asked: Asked, maxBytes: number): Promise<HookBody> {
    if (bodies >= MAX_BODIES) {
      throw new HttpError(503, 'busy', 'Too many requests at the same time; send it again.', { 'Retry-After': '1' });
    }
    bodies++;
    try {
      return await readHookJson(asked.request, maxBytes);
    } finally {
      bodies--;
    }
  }

  function placesOf({ alertmanager, callbacks }: Hooks): ReadonlyMap<string, Place> {
    const found = new Map<string, Place>();
    for (const [name, { token, withoutAccount }] of alertmanager) {
      found.set(`/hooks/alertmanager/${name}`, {
        hook: 'alertmanager',
        name,
        async handle(asked) {
          requireBearer(asked.request.headers.authorization, token);
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
          requireBearer(headers.authorization, token);
          const { bytes, value } = await read(asked, maxBodyBytes);
          const taken = verify?.({ signature: one(headers[`${headerPrefix}-Signature`.toLowerCase()]), body: bytes });
          const letter = takeCallback(deps, { account, headerPrefix, headers, value });
          if (letter !== undefined) gathering.add(letter);
          taken?.();
        },
      });
    }
    return found;
  }

  async function answer(asked: Asked): Promise<Reply> {
    const place = places.get(asked.path);
    if (place === undefined) {
      events.emit({ type: 'hook.answered', hook: 'other', code: 404 });
      return text(404, 'There is no hook here.');
    }
    const { hook, name, handle } = place;
    try {
      if (asked.request.method !== 'POST') {
        throw new HttpError(405, 'method_not_allowed', 'Hooks take POST.', { Allow: 'POST' });
      }
      await handle(asked);
      events.emit({ type: 'hook.answered', hook, name, code: 202 });
      return text(202, 'stored');
    } catch (error) {
      const refusal = error instanceof HttpError ? error : failed(error, place);
      const { status: code, message, headers } = refusal;
      events.emit({ type: 'hook.answered', hook, name, code, refused: REFUSALS[refusal.code] ?? 'failed' });
      return { ...text(code, message), headers };
    }
  }

  /** The store, or a file of secrets: not the caller's fault, who sends it again. */
  function failed(error: unknown, { hook, name }: Place): HttpError {
    logger.error({ hook, name, error: errorMessage(error) }, 'a hook could not take what it was sent');
    const message = 'This could not be stored; send it again. The log of the daemon says why.';
    return new HttpError(503, 'store_unavailable', message, { 'Retry-After': '10' });
  }

  const door = given.door !== undefined && { door: given.door };
  const server = await startListener({ clock, logger, listen, setting: 'hooks.listen', answer, ...door });
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

const REFUSALS: { readonly [C in ErrorCode]?: HookRefusal } = {
  method_not_allowed: 'method',
  unauthorized: 'unauthorized',
  bad_signature: 'signature',
  replay: 'replay',
  bad_request: 'malformed',
  too_large: 'too_large',
  busy: 'busy',
};

interface Gatherer extends Disposable {
  add(letter: { readonly account: string; readonly dlqId: string }): void;
}

/** Runs the policies that wait for failure callbacks, each once for all that come within a while. */
function gatherer(deps: HookDeps): Gatherer {
  const { ledger, clock } = deps;
  const waiting = new Map<string, Disposable>();
  return {
    add({ account, dlqId }) {
      const key = `${account}/${dlqId}`;
      const trigger = { kind: 'callback', key } as const;
      for (const { name: policy, account: of, when } of deps.policies()) {
        if (of !== account || !('failureCallback' in when)) continue;
        // The service sends a callback again when it got no answer.
        if (!ledger.recordTrigger({ policy, account, trigger, at: clock.now() })) continue;
        if (waiting.has(policy)) continue;
        const timer = clock.after(GATHER_MS, () => {
          waiting.delete(policy);
          deps.run(policy, trigger);
        });
        waiting.set(policy, timer);
      }
    },
    [Symbol.dispose]() {
      for (const timer of waiting.values()) timer[Symbol.dispose]();
      waiting.clear();
    },
  };
}

function one(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : undefined;
}
