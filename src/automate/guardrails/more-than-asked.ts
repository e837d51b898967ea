/** More entries than the request named or allowed: the service did not read it as meant, and neither would the next. */
export function moreThanAsked({ asked, done }: { readonly asked: number; readonly done: number }): string | undefined {
  return done <= asked
    ? undefined
    : `${done} entries were acted on where ${asked} ${asked === 1 ? 'was' : 'were'} asked for`;
}
