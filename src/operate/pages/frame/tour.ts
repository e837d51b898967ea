/** Remark and buttons above the content of every page, from the program that starts the daemon. */
import { mayUse, type Caller } from '../../http/access.ts';
import { formToken } from '../../http/form-token.ts';
import type { Html } from '#foundation/markup/cell.ts';
import { html } from '#foundation/markup/html.ts';
import type { Tour } from '../../show/tour.ts';

/** @param next address of the page; a button returns to it */
export function tourPiece(tour: Tour, caller: Caller | undefined, next: string): Html {
  const isAllowed = caller !== undefined && mayUse({ caller }, 'operator');
  return html`<aside class="tour" aria-label="${tour.title}">
    <p><strong>${tour.title}</strong> ${!isAllowed && tour.readOnly}</p>
    ${
      isAllowed &&
      html`<ol>
          ${tour.steps.map(({ text, path }) => html`<li><a href="${path}">${text}</a></li>`)}
        </ol>
        ${tour.buttons().map(
          ({ id, label, isDanger }) =>
            html`<form method="post" action="/tour/${id}">
              <input type="hidden" name="csrf" value="${formToken(caller)}" />
              <input type="hidden" name="next" value="${next}" />
              ${isDanger ? html`<button class="danger">${label}</button>` : html`<button>${label}</button>`}
            </form>`,
        )}`
    }
  </aside>`;
}
