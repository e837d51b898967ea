/** Faults of the query. */
import { always, type Draft, when, type Spoiler } from './draft.ts';
import type { FuzzOperation } from './operations.ts';
import { OTHER_CURSORS, WRONG_QUERY } from './wrong-values.ts';

const hasQuery = ({ query }: FuzzOperation): boolean => Object.keys(query).length > 0;
/** True if the query belongs to the operation, not to a destination. */
const ownQuery = ({ takesRest }: FuzzOperation): boolean => !takesRest;

/** Valid where any text is allowed, but unusual. */
const ODD = [
  '',
  ',',
  ',,,',
  '%2C',
  'a'.repeat(3_000),
  '%F0%9F%92%A9',
  '%00%01%1F',
  '+',
  '&&&=',
  '8640000000000001',
  '-8640000000000001',
  '-0',
  '__proto__',
];

export const QUERY_SPOILERS: readonly Spoiler[] = [
  when(hasQuery, (draft) => {
    const { operation } = draft;
    const entries = Object.entries(operation.query).filter(([, { kind }]) => kind in WRONG_QUERY);
    const [name, { kind }] = draft.pick(entries);
    const wrong = [...WRONG_QUERY[kind]!, ...(kind === 'cursor' ? OTHER_CURSORS[operation.name]! : [])];
    draft.refuse(`query ${name}`, [name]).query.push(`${name}=${draft.pick(wrong)}`);
  }),
  when(hasQuery, (draft) => {
    const [name, { kind }] = draft.pick(Object.entries(draft.operation.query));
    draft.change(`repeated query ${name}`, [name]).query.push(`${name}=1`, `${name}=1`);
    draft.bad ||= !['texts', 'urls', 'integers'].includes(kind);
  }),
  when(hasQuery, (draft) => {
    const name = nameOf(draft);
    draft.change(`odd query ${name}`, [name, '""']).query.push(`${name}=${draft.pick(ODD)}`);
  }),
  when(ownQuery, (draft) => {
    const name = draft.pick(['unknown', 'Cursor', '__proto__', 'count%20', '%63ounty', 'x[]', 'u'.repeat(500)]);
    draft.refuse(`unknown query ${name}`, [decodeURIComponent(name).slice(0, 50)]).query.push(`${name}=1`);
  }),
  when(ownQuery, (draft) => {
    const name = nameOf(draft);
    const wrong = draft.pick(['%', '%zz', '%f', '%ff', '%C3%28', '%E0%A4%A']);
    draft.refuse(`percent-encoding of query ${name}`, [name]).query.push(`${name}=${wrong}`);
  }),
  when(always, (draft) => {
    const size = draft.pick([20_000, 100_000, 1_000_000]);
    draft.refuse('huge query', ['headers']).query.push(`x=${'9'.repeat(size)}`);
  }),
];

function nameOf(draft: Draft): string {
  return draft.pick([...Object.keys(draft.operation.query), 'x']);
}
