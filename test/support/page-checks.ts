/** Checks of a page in a browser. */
import axe from 'axe-core';
import type { Tab, TabView } from './browser-tab.ts';

/** Views of each page. */
export const VIEWS: readonly TabView[] = [
  { width: 1_300, colors: 'light' },
  { width: 390, height: 844, colors: 'dark' },
  { width: 390, height: 844, colors: 'light', script: false },
];

/** Shows a page. A phone with the script gets the page that the view before has loaded: loads are costly. */
export async function show(tab: Tab, url: string, view: TabView): Promise<void> {
  await tab.view(view);
  if (view !== VIEWS[1]) await tab.open(url);
}

/** Violations of the rules of axe-core, one line each. The selectors of all nodes are costly, and nothing shows them. */
export async function violations(tab: Tab): Promise<string[]> {
  if (!(await tab.eval<boolean>(`'axe' in window`))) await tab.eval(`${axe.source}; undefined`);
  return tab.eval<string[]>(
    `axe.run(document, { resultTypes: ['violations'], selectors: false }).then(({ violations }) => violations.flatMap(({ id, nodes }) =>
      nodes.slice(0, 3).map(({ html, failureSummary }) => id + ': ' + html.slice(0, 200) + ' ' + failureSummary)))`,
  );
}

/** Elements that make the page scroll sideways. */
export function tooWide(tab: Tab): Promise<string[]> {
  return tab.eval<string[]>(
    `document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll('body *')]
      .filter((one) => one.getBoundingClientRect().right > innerWidth).map((one) => one.outerHTML.slice(0, 120))`,
  );
}
