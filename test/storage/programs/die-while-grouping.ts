/** Groups 9,000 dead letters, and kills itself after some commits: `die-while-grouping.ts STORE COMMITS`. */
import { IncidentBook } from '#observe/incidents/incident-book.ts';
import { createIncidentStore } from '#storage/incident-store.ts';
import { openStore } from '#storage/sqlite.ts';
import { groupedReading } from '../grouped-reading.ts';

const [path = '', commits = '0'] = process.argv.slice(2);
const store = openStore(path);
let left = Number(commits);
const incidents = createIncidentStore(store);
const book = await IncidentBook.open({
  ...incidents,
  async commit(commit) {
    if (left === 0) process.kill(process.pid, 'SIGKILL');
    left -= 1;
    await incidents.commit(commit);
  },
});
for await (const _part of book.take(groupedReading()));
