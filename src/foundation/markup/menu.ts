/** Menu in the head of a page. */
import type { Html } from './cell.ts';
import { html } from './html.ts';

/** Menu of the values of a query parameter. The others stay as they are, but a list begins again. */
export function choice(address: PageAddress, name: string, options: readonly Option[]): Html {
  const value = address.query.get(name) ?? undefined;
  const chosen = options.find((option) => option.value === value) ?? options[0]!;
  return html`<details class="menu">
    <summary>${chosen.title}</summary>
    <ul>
      ${options.map((option) => {
        const href = addressWith(address, name, option.value);
        return option === chosen
          ? html`<li><a href="${href}" aria-current="true">${option.title}</a></li>`
          : html`<li><a href="${href}">${option.title}</a></li>`;
      })}
    </ul>
  </details>`;
}

interface PageAddress {
  readonly path: string;
  readonly query: URLSearchParams;
}

interface Option {
  /** Undefined: without the parameter. */
  readonly value: string | undefined;
  readonly title: string;
}

function addressWith({ path, query }: PageAddress, name: string, value: string | undefined): string {
  const next = new URLSearchParams(query);
  next.delete('cursor');
  next.delete(name);
  if (value !== undefined) next.set(name, value);
  return next.size === 0 ? path : `${path}?${next.toString()}`;
}
