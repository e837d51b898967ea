/** One id was sent: more than one resumed run means that the service did not read it as meant. */
export function moreThanAsked({ asked, done }: { readonly asked: number; readonly done: number }): string | undefined {
  return done > asked ? `${done} runs were resumed where ${asked} was asked for` : undefined;
}
