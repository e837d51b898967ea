/** Collects the records of the configured search indexes. The parser removes tokens. */
import { apiOf, offReason, offWithout, type Collector } from './collector.ts';
import { readEach } from './read-all.ts';

export const searchIndexes: Collector<'searchIndexes'> = {
  name: 'searchIndexes',
  api: 'management',
  off(target) {
    return offReason(target, 'searchIndexes', 'management') ?? offWithout(target.searchIndexes, 'search indexes');
  },
  collect(client, { target, signal }) {
    const api = apiOf(client, 'management');
    return readEach(signal, target.searchIndexes, (index, joined) => api.getIndex(index, { signal: joined }));
  },
};
