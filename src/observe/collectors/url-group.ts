/** Collects URL Groups. One request returns all of them. */
import { apiOf, offReason, type Collector } from './collector.ts';

export const urlGroups: Collector<'urlGroups'> = {
  name: 'urlGroups',
  api: 'message',
  off: (target) => offReason(target, 'urlGroups', 'message'),
  async collect(client, { signal }) {
    const { value, dropped } = await apiOf(client, 'message').listUrlGroups({ signal });
    return { rows: value, dropped };
  },
};
