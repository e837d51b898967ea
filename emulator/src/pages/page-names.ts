/** Routes of the pages by method and path. */
export const PAGES_PATH = '/-/pages';

export const PAGE_NAMES = [
  'GET /',
  `GET ${PAGES_PATH}/messages/:messageId`,
  `GET ${PAGES_PATH}/dead-letters`,
  `GET ${PAGES_PATH}/flow-control`,
  `GET ${PAGES_PATH}/clock`,
  `POST ${PAGES_PATH}/clock`,
  `GET ${PAGES_PATH}/publish`,
  `POST ${PAGES_PATH}/publish`,
  'GET /assets/:name',
] as const;

export type PageName = (typeof PAGE_NAMES)[number];
