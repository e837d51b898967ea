/** Page of one message or workflow run. */
import { foundMessage } from '../api/message-routes.ts';
import { getMessage } from '../contract/messages.ts';
import type { Reply } from '../http/reply.ts';
import { messageSheet } from '../show/message.ts';
import { readFilters } from './frame/filters.ts';
import { showPage, type PageContext } from './frame/page.ts';

export async function messagePage(context: PageContext): Promise<Reply> {
  context.mayTakeLong();
  const { title, content } = messageSheet(
    await foundMessage({ ...context, query: readFilters(context.query, getMessage) }),
  );
  return showPage(context, { title, section: '/messages', isStill: true, main: content });
}
