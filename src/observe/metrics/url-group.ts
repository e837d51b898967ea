/**
 * URL groups as gauges. Names and URLs of endpoints never become labels. Where something of the answer could not be
 * understood, numbers of groups and endpoints would be too small: then there are none.
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
