/**
 * Detects actions on more entries than the request named or allowed. The service read the request differently, so it
 * would do the same with the next one.
 */
export function exceededRequest({
  asked,
  done,
}: {
  readonly asked: number;
  readonly done: number;
}): string | undefined {
  return done <= asked ? undefined : `the service acted on ${done} entries; the request allowed ${asked}`;
}
