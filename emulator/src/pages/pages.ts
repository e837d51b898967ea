/** All pages by route. */
import { ASSET_HEADERS, STYLE_SHEET } from '#foundation/markup/document.ts';
import type { ApiResponse, ReceivedRequest } from '../http/route.ts';
import { ApiError } from '../state/api-error.ts';
import { clockPage, moveClock } from './clock.ts';
import { deadLettersPage } from './dead-letters.ts';
import { flowControlPage } from './flow-control.ts';
import { answerPage, type PageDeps } from './frame.ts';
import { messagePage } from './message.ts';
import { messagesPage } from './messages.ts';
import { PAGES_PATH, type PageName } from './page-names.ts';
import { publishFromPage, publishPage } from './publish.ts';

type Handler = (deps: PageDeps, request: ReceivedRequest) => ApiResponse | Promise<ApiResponse>;

const page =
  (show: Parameters<typeof answerPage>[2]): Handler =>
  (deps, request) =>
    answerPage(deps, request, show);

export const PAGES: Readonly<Record<PageName, Handler>> = {
  'GET /': page(messagesPage),
  [`GET ${PAGES_PATH}/messages/:messageId`]: page(messagePage),
  [`GET ${PAGES_PATH}/dead-letters`]: page(deadLettersPage),
  [`GET ${PAGES_PATH}/flow-control`]: page(flowControlPage),
  [`GET ${PAGES_PATH}/clock`]: page(clockPage),
  [`POST ${PAGES_PATH}/clock`]: page(moveClock),
  [`GET ${PAGES_PATH}/publish`]: page(publishPage),
  [`POST ${PAGES_PATH}/publish`]: page(publishFromPage),
  'GET /assets/:name': (_deps, { params }) => {
    const { path, contentType, body } = STYLE_SHEET;
    if (`/assets/${params['name']}` !== path) throw new ApiError(404, 'there is no such file');
    return { status: 200, headers: { ...ASSET_HEADERS, 'Content-Type': contentType }, text: body };
  },
};
