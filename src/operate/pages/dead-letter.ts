/** Page of one dead letter, with its actions; operators can read its body. */
import { deadLetterSample, deadLetterView, findDeadLetter } from '../api/dead-letter-views.ts';
import { knownAccount } from '../api/known-account.ts';
import { fromLedger } from '../api/from-store.ts';
import { actionView } from '../api/run-views.ts';
import { allow, mayUse } from '../http/access.ts';
import type { Reply } from '../http/reply.ts';
import { deadLetterSheet } from '../show/dead-letter.ts';
import { deadLetterPath } from '../show/paths.ts';
import { filtersOf } from './frame/filters.ts';
import { showPage, type PageContext } from './frame/page.ts';
import { html } from '../show/html.ts';

/** Reading the body sends a request and shows personal data, so it needs the role operator. */
export async function deadLetterPage(context: PageContext): Promise<Reply> {
  const { deps, id, signal } = context;
  const query = filtersOf(context.query);
  const isBodyWanted = query.get('body') === 'true';
  if (isBodyWanted) allow(context, 'operator', 'opsd dlq show ID --body');
  const found = findDeadLetter(deps, id, knownAccount(deps, query.get('account') ?? undefined));
  const sample = isBodyWanted ? await deadLetterSample(deps, found, signal) : undefined;
  const deadLetter = deadLetterView(deps, found);
  const acted = await fromLedger(context, (ledger) => ledger.actionsOn(found.account, [id]));
  const document = { at: deps.clock.now(), deadLetter, actions: acted.map(actionView), sample };
  const offer =
    mayUse(context, 'operator') &&
    deadLetter.queue === 'workflow' &&
    html`<p>
      <a href="${deadLetterPath(deadLetter)}&amp;body=true">Read body and headers</a>
      <span class="faint">sends one request</span>
    </p>`;
  return showPage(context, {
    title: `Dead letter ${deadLetter.id}`,
    section: '/dead-letters',
    isStill: true,
    main: deadLetterSheet(document, offer),
  });
}
