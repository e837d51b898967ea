/** Form of filters. They are in the address of the page, so that it can be shared. */
import type { ContractRoute, QueryOf } from '../../contract/route.ts';
import { knownAccount } from '../../api/known-account.ts';
import { readQuery } from '../../http/query.ts';
import type { Html } from '#foundation/markup/cell.ts';
import { html } from '#foundation/markup/html.ts';
import type { PageContext } from './page.ts';

/** Parameters of a page for the view behind it: without empty fields, and without those of the page itself. */
export function queryFilters(query: URLSearchParams): URLSearchParams {
  return new URLSearchParams([...query].filter(([name, value]) => value !== '' && name !== 'refresh'));
}

/** Account of the filters. @throws {HttpError} 404 for an unknown one */
export function filteredAccount({ deps, query }: Pick<PageContext, 'deps' | 'query'>): string | undefined {
  return knownAccount(deps, queryFilters(query).get('account') ?? undefined);
}

/** Parameters of a page as the query of the API's route. @throws {HttpError} 400 */
export function readFilters<R extends ContractRoute>(query: URLSearchParams, { query: schema }: R): QueryOf<R> {
  return readQuery(queryFilters(query), schema) as QueryOf<R>;
}

/** Address of the next page of a list. */
function nextPath(path: string, query: URLSearchParams, cursor: string): string {
  const next = queryFilters(query);
  next.set('cursor', cursor);
  return `${path}?${next.toString()}`;
}

interface FilterField {
  readonly name: string;
  readonly label: string;
  /** Example of a value. */
  readonly example?: string;
  /** Values to choose from, in addition to all. */
  readonly options?: readonly string[];
}

/** Choice of an account, if there are several. */
export function accountField(accounts: PageContext['deps']['accounts']): readonly FilterField[] {
  const options = accounts.map(({ name }) => name);
  return options.length > 1 ? [{ name: 'account', label: 'Account', options }] : [];
}

/** @returns undefined without a field */
export function filterForm(path: string, query: URLSearchParams, fields: readonly FilterField[]): Html | undefined {
  if (fields.length === 0) return undefined;
  return html`<form method="get" action="${path}" class="filters" role="search" aria-label="Filters">
    ${fields.map((field) => filterField(field, query))}
    <button>Search</button>
    ${queryFilters(query).size > 0 && html`<a href="${path}">Remove the filters</a>`}
  </form>`;
}

function filterField({ name, label, example, options }: FilterField, query: URLSearchParams): Html {
  const value = query.get(name) ?? '';
  if (options === undefined) {
    return html`<label
      >${label} <input name="${name}" value="${value}" placeholder="${example}" autocomplete="off"
    /></label>`;
  }
  return html`<label
    >${label}
    <select name="${name}">
      <option value="">all</option>
      ${options.map((option) =>
        option === value
          ? html`<option value="${option}" selected>${option}</option>`
          : html`<option value="${option}">${option}</option>`,
      )}
    </select>
  </label>`;
}

/** Link to the next page of a list; undefined at its end. */
export function nextLink(path: string, query: URLSearchParams, cursor: string | undefined): Html | undefined {
  return cursor === undefined
    ? undefined
    : html`<p class="pages"><a href="${nextPath(path, query, cursor)}">Next page</a></p>`;
}
