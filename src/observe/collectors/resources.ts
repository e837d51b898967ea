/** Collectors of resources that are read as they are: URL Groups, and the records of search indexes. */
import { collectorOf } from './collector.ts';
import { readEach } from './read-all.ts';

/** One request returns all of them. */
export const urlGroups = collectorOf({
  name: 'urlGroups',
  api: 'message',
  async collect(api, { signal }) {
    const { value, dropped } = await api.listUrlGroups({ signal });
    return { rows: value, dropped };
  },
});

/** The parser removes tokens. */
export const searchIndexes = collectorOf({
  name: 'searchIndexes',
  api: 'management',
  lacks: ({ searchIndexes: names }) => (names.length === 0 ? 'no search indexes configured' : undefined),
  collect: (api, { target, signal }) =>
    readEach(signal, target.searchIndexes, (index, joined) => api.getIndex(index, { signal: joined })),
});
