/** Port whose calls of one method wait, so that a test can do something else between a call and its result. */

interface HeldCall {
  /** Performs the call now. Its caller gets the result. */
  readonly proceed: () => void;
  /** Rejects the call without performing it. */
  readonly fail: (error: Error) => void;
}

interface HeldBack<T> {
  readonly port: T;
  /** Calls that wait, oldest first. */
  readonly waiting: HeldCall[];
  /** From now on, calls are performed at once. */
  readonly release: () => void;
}

type View<T> = (use: (view: T) => unknown) => unknown;
type Method = (...given: unknown[]) => unknown;

/** @param isMeant tells which calls wait, by their arguments; default: all of them */
export function heldBack<T extends object>(
  port: T,
  method: keyof T,
  isMeant: (...given: never[]) => boolean = () => true,
): HeldBack<T> {
  return held(port, method, isMeant as Method, async (perform, wait) => {
    await wait();
    return perform();
  });
}

/** Port whose method performs at once, and whose results wait. */
export function heldResults<T extends object>(port: T, method: keyof T, isMeant: () => boolean): HeldBack<T> {
  return held(port, method, isMeant, async (perform, wait) => {
    const result = await perform();
    await wait();
    return result;
  });
}

function held<T extends object>(
  port: T,
  method: keyof T,
  isMeant: Method,
  call: (perform: () => unknown, wait: () => Promise<void>) => Promise<unknown>,
): HeldBack<T> {
  const waiting: HeldCall[] = [];
  let isReleased = false;
  const called = (one: T, given: readonly unknown[]) =>
    call(
      () => (one[method] as Method)(...given),
      async () => {
        if (isReleased || isMeant(...given) === false) return;
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        waiting.push({ proceed: resolve, fail: reject });
        await promise;
      },
    );
  const within = (one: T): T =>
    new Proxy(one, {
      get(target, key) {
        if (key === method) return async (...given: unknown[]) => called(target, given);
        const found: unknown = Reflect.get(target, key);
        // The methods of a view are held as well.
        const view: View<T> = (use) => (found as View<T>)((inner) => use(within(inner)));
        return key === 'view' ? view : found;
      },
    });
  return {
    port: within(port),
    waiting,
    release() {
      isReleased = true;
      for (const call of waiting) call.proceed();
    },
  };
}
