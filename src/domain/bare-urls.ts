/** URLs carry tokens in their queries, and passwords before their hosts: what people are shown has neither. */

const URLS = /(\bhttps?:\/\/)(?:[^\s/?#"'<>]*@)?([^\s?#"'<>]+)(?:[?#][^\s"'<>]*)?/gi;

/** The same text; every URL in it begins with its host and ends before its query. */
export function bareUrls(text: string): string {
  return text.replace(URLS, '$1$2');
}
