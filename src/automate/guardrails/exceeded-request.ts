import type { Hold } from '#foundation/domain/hold.ts';

/**
 * Detects actions on more entries than the request named or allowed. The service read the request differently, so it
 * would do the same with the next one.
 */
export function exceededRequest({ asked, done }: { readonly asked: number; readonly done: number }): Hold | undefined {
  if (done <= asked) return undefined;
  return {
    measured: `the service acted on ${done} entries`,
    needed: `the request allowed ${asked}`,
    remedy: 'compare the action with the service',
  };
}
