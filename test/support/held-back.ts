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

type Method = (...given: unknown[]) => unknown;

/** @param isMeant tells which calls wait, by their arguments; default: all of them */
export function heldBack<T extends object>(
  port: T,
  method: keyof T,
  isMeant: (...given: never[]) => boolean = () => true,
): HeldBack<T> {
  const waiting: HeldCall[] = [];
  let isReleased = false;
  async function wait(...given: unknown[]): Promise<unknown> {
    const perform = () => (port[method] as Method)(...given);
    if (isReleased || !(isMeant as Method)(...given)) return perform();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    waiting.push({ proceed: resolve, fail: reject });
    await promise;
    return perform();
  }
  return {
    port: new Proxy(port, { get: (target, key) => (key === method ? wait : Reflect.get(target, key)) }),
    waiting,
    release() {
      isReleased = true;
      for (const call of waiting) call.proceed();
    },
  };
}

/** Port whose method performs at once, and whose results wait. */
export function heldResults<T extends object>(port: T, method: keyof T, isMeant: () => boolean): HeldBack<T> {
  const waiting: HeldCall[] = [];
  let isReleased = false;
  async function wait(...given: unknown[]): Promise<unknown> {
    const result = await (port[method] as Method)(...given);
    if (isReleased || !isMeant()) return result;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    waiting.push({ proceed: resolve, fail: reject });
    await promise;
    return result;
  }
  return {
    port: new Proxy(port, { get: (target, key) => (key === method ? wait : Reflect.get(target, key)) }),
    waiting,
    release() {
      isReleased = true;
      for (const call of waiting) call.proceed();
    },
  };
}
