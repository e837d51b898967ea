/** Route of the buttons of the tour. */
import { allow } from '../../http/access.ts';
import { readForm } from '../../http/form.ts';
import { HttpError, type Reply } from '../../http/reply.ts';
import { goTo, type PageContext, type PageRoute } from './page.ts';
import { ownPath } from './sign-in.ts';

export const TOUR_ROUTES: readonly PageRoute[] = [{ path: '/tour/{id}', method: 'POST', hasForm: true, handle: press }];

async function press(context: PageContext): Promise<Reply> {
  const caller = allow(context, 'operator', 'opsd demo');
  const form = await readForm(context, caller);
  const { tour } = context.deps;
  if (tour?.buttons().some(({ id }) => id === context.id) !== true) {
    throw new HttpError(404, 'not_found', 'This button has no effect any more. Reload its page.');
  }
  await tour.press(context.id);
  return goTo(ownPath(form.get('next')));
}
