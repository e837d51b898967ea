/**
 * The emulator at scale, in sections that are selected by name (default: all). It measures: starts and idle memory; publishes per second from a
 * client through the service to a local sink; pages of the log by every filter with 100,000 entries; listings and
 * deletes of dead letters with 100,000 in either queue; memory while far more than the retention passes through.
 */
import { deadLetters, logPages, startFilled } from './filled.ts';
import { publishes } from './publishes.ts';
import { retention } from './retention.ts';
import { Rig } from './rig.ts';
import { start } from './start.ts';
import { stop } from '../../bench/measure.ts';

const SECTIONS = ['start', 'publishes', 'pages', 'dead-letters', 'retention'];
const named = process.argv.slice(2);
const unknown = named.find((name) => !SECTIONS.includes(name));
if (unknown !== undefined) throw new Error(`${unknown} is no section: give any of ${SECTIONS.join(', ')}`);
const wanted = (name: string): boolean => named.length === 0 || named.includes(name);

await using rig = new Rig();
if (wanted('start')) await start(rig);
if (wanted('publishes')) await publishes(rig);
if (wanted('pages') || wanted('dead-letters')) {
  const filled = await startFilled(rig);
  if (wanted('pages')) await logPages(rig, filled);
  if (wanted('dead-letters')) await deadLetters(rig, filled);
  await stop(filled.child);
}
if (wanted('retention')) await retention(rig);
rig.tellWorst();
