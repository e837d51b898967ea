/**
 * Projects URL groups to gauges. Names and URLs of endpoints never become labels. If part of the response was invalid,
 * the numbers of groups and endpoints would be too low and are withheld.
 */
import type { Project } from './projection.ts';
import { seconds } from './values.ts';

export const projectUrlGroups: Project<'urlGroups'> = ({ account, rows, dropped }, put) => {
  if (dropped === 0) put('msgsvc_url_groups', { account }, rows.length);
  for (const group of rows) {
    const labels = { account, url_group: group.name };
    if (dropped === 0) put('msgsvc_url_group_endpoints', labels, group.endpoints.length);
    put('msgsvc_url_group_created_timestamp_seconds', labels, seconds(group.createdAt));
    put('msgsvc_url_group_updated_timestamp_seconds', labels, seconds(group.updatedAt));
  }
};
