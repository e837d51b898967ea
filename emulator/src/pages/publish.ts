/** Page with a form that publishes a message, through the operation of the interface. */
import { html } from '#foundation/markup/html.ts';
import type { Cell } from '#foundation/markup/cell.ts';
import type { ApiResponse } from '../http/route.ts';
import { ApiError } from '../state/api-error.ts';
import { headerValue } from '../state/header-text.ts';
import { METHODS } from '../state/message.ts';
import { pathTo, problem, redirect, type ShownPage, type PageRequest } from './frame.ts';
import { PAGES_PATH } from './page-names.ts';

const PATH = `${PAGES_PATH}/publish`;

/** Fields by header without its prefix, with an example. */
const SETTINGS = {
  Retries: '3',
  Delay: '10s',
  Label: 'orders',
  'Flow-Control-Key': 'billing',
  'Flow-Control-Value': 'parallelism=2',
  Callback: 'https://…',
  'Failure-Callback': 'https://…',
} as const;

export function publishPage(request: PageRequest, refused?: ApiError): ShownPage {
  const { form } = request;
  const valueOf = (name: string, otherwise = ''): string => form.get(name) ?? otherwise;
  const field = (name: string, label: string, example: string): Cell =>
    html`<label
      >${label} <input name="${name}" value="${valueOf(name)}" placeholder="${example}" autocomplete="off"
    /></label>`;
  const method = valueOf('Method', 'POST');
  return {
    title: 'Publish',
    path: PATH,
    isStill: true,
    ...(refused && { status: refused.status }),
    main: html`${refused && problem(refused.message)}
      <form method="post" action="${pathTo(request, PATH)}" class="stack" aria-label="Publish a message">
        <label
          >Destination: a URL, or the name of a URL Group
          <input name="destination" value="${valueOf('destination')}" required autocomplete="off"
        /></label>
        <label
          >Method
          <select name="Method">
            ${METHODS.map((name) => (name === method ? html`<option selected>${name}</option>` : html`<option>${name}</option>`))}
          </select>
        </label>
        ${field('Content-Type', 'Content type', 'application/json')}
        <label>Body <textarea name="body" rows="6">${valueOf('body')}</textarea></label>
        ${Object.entries(SETTINGS).map(([name, example]) => field(name, labelOf(name), example))}
        <button>Publish</button>
      </form>`,
  };
}

function labelOf(name: string): string {
  return name.slice(0, 1) + name.slice(1).toLowerCase().replaceAll('-', ' ');
}

export async function publishFromPage(request: PageRequest): Promise<ShownPage | ApiResponse> {
  try {
    const { json } = await publish(request);
    const { messageId } = json as { readonly messageId?: string };
    return redirect(
      pathTo(request, messageId === undefined ? '/' : `${PAGES_PATH}/messages/${encodeURIComponent(messageId)}`),
    );
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return publishPage(request, error);
  }
}

async function publish({ service, account, form, callerIp }: PageRequest): Promise<ApiResponse> {
  const { route, params, query } = service.match('POST', `/v2/publish/${form.get('destination')?.trim() ?? ''}`);
  const contentType = form.get('Content-Type')?.trim() ?? '';
  const settings = ['Method', ...Object.keys(SETTINGS)].map((name) => [
    `${service.headerPrefix}-${name}`.toLowerCase(),
    headerValue(form.get(name)?.trim() ?? ''),
  ]);
  return route.handle({
    account,
    headers: {
      ...(contentType !== '' && { 'content-type': headerValue(contentType) }),
      ...Object.fromEntries(settings),
    },
    params,
    query: new URLSearchParams(query),
    // A browser sends the lines of a field with CR and LF.
    body: Buffer.from((form.get('body') ?? '').replaceAll('\r\n', '\n')),
    callerIp,
  });
}
