/**
 * Pages of the log and of both DLQs by every filter, with 100,000 entries and 100,000 dead letters in either queue.
 */
import { join } from 'node:path';
import { ACCOUNT, LATENCY_HEAD, mega, seconds, TOKEN, type Rig, type Running } from './rig.ts';
import { fillFolder } from './filled-folder.ts';

const ENTRIES = Number(process.env['ENTRIES'] ?? 100_000);
const DEAD_LETTERS = Number(process.env['DEAD_LETTERS'] ?? 100_000);
const BODY_BYTES = Number(process.env['BODY_BYTES'] ?? 1_000);

interface Filled extends Running {
  /** Id of a message in the middle. */
  readonly messageId: string;
}

export async function startFilled(rig: Rig): Promise<Filled> {
  const folder = join(rig.folder, 'full');
  let started = performance.now();
  const sizes = { entries: ENTRIES, deadLetters: DEAD_LETTERS, bodyBytes: BODY_BYTES };
  const messageId = await fillFolder({ folder, account: ACCOUNT, token: TOKEN, ...sizes });
  console.log(`\n${ENTRIES} entries, bodies of ${BODY_BYTES} bytes, ${DEAD_LETTERS} dead letters in either queue`);
  console.log(`written in ${seconds(started)}`);
  started = performance.now();
  const running = await rig.emulator(['--data', folder]);
  console.log(`started from the folder in ${seconds(started)}; ${mega(running.child)} resident`);
  return { ...running, messageId };
}

/** Returns a cursor of the service, moved to another position where the pages start. */
async function cursorTo(rig: Rig, listing: string, position: number): Promise<string> {
  const { cursor } = JSON.parse(await rig.send('GET', `${listing}?count=1`)) as { readonly cursor: string };
  return `cursor=${cursor.replace(/\d+$/, String(position))}`;
}

export async function logPages(rig: Rig, { child, url, messageId }: Filled): Promise<void> {
  const oneUrl = encodeURIComponent('https://api.example/hooks/7');
  const now = Date.now();
  const minute = `fromDate=${now - 1_860_000}&toDate=${now - 1_800_000}`;
  const cursor = await cursorTo(rig, `${url}/v2/logs`, Math.floor(ENTRIES / 2));
  const asked: readonly (readonly [name: string, query: string])[] = [
    ['no filter (floor)', ''],
    ['messageId', `messageId=${messageId}`],
    ['messageId and state, none', `messageId=${messageId}&state=CANCELLED`],
    ['state, many', 'state=DELIVERED'],
    ['state, none', 'state=CANCELLED'],
    ['url, many', `url=${oneUrl}`],
    ['topicName', 'topicName=group-2'],
    ['scheduleId, none', 'scheduleId=s'],
    ['queueName, none', 'queueName=q'],
    ['label, one message', 'label=order-5'],
    ['labels, half of all', `label=${Array.from({ length: 10 }, (_, n) => `kind-${n}`).join(',')}`],
    ['label and state, none', 'label=kind-3,kind-4,kind-5&state=RETRY'],
    ['url and group, none', `url=${oneUrl}&topicName=group-2`],
    ['url, group, label and state, none', `url=${oneUrl}&topicName=group-2&label=kind-7&state=ERROR`],
    ['a minute in the middle', minute],
    ['a minute, and none of a state', `${minute}&state=CANCELLED`],
    ['from a cursor in the middle', cursor],
    ['cursor, label and state', `${cursor}&label=order-5&state=ERROR`],
  ];
  console.log(`page of the log\n${LATENCY_HEAD}`);
  for (const [name, query] of asked) {
    await rig.latency(child, name, { ask: () => rig.send('GET', `${url}/v2/logs?${query}`) });
  }
  console.log(`${mega(child)} resident`);
}

export async function deadLetters(rig: Rig, { child, url }: Filled): Promise<void> {
  const runs = `${url}/v2/workflows/dlq`;
  const queue = `${url}/v2/dlq`;
  const now = Date.now();
  const listed: readonly (readonly [name: string, query: string])[] = [
    ['no filter (floor)', ''],
    ['from a cursor near the end', await cursorTo(rig, runs, DEAD_LETTERS - 50)],
    ['run id', `workflowRunId=wfr_${DEAD_LETTERS + 1}`],
    ['label, one run', `label=order-${DEAD_LETTERS + 1}`],
    ['label, a tenth', 'label=kind-1'],
    ['address, all', 'callerIp=127.0.0.1'],
    ['label and address, none', 'label=kind-1,kind-3&callerIp=10.0.0.1'],
    ['label and url, none', `label=kind-1&workflowUrl=${encodeURIComponent('https://api.example/hooks/7')}`],
    ['failure function state, none', 'failureFunctionState=CALLBACK_SUCCESS'],
    ['dates and label, none', `fromDate=${now}&label=kind-1`],
  ];
  console.log(`failed runs, listed\n${LATENCY_HEAD}`);
  for (const [name, query] of listed) {
    await rig.latency(child, name, { ask: () => rig.send('GET', `${runs}?${query}`) });
  }
  const one = (n: number): number => 2 * n + 20_000;
  const deleted: readonly (readonly [name: string, query: (round: number) => string])[] = [
    ['messages, status and label, none', () => `${queue}?responseStatus=404&label=kind-2`],
    ['messages, dates, none', () => `${queue}?fromDate=${now}&label=kind-2`],
    ['messages, a label of one', (n) => `${queue}?label=order-${one(n)}`],
    ['messages, one by url and label', (n) => `${queue}?url=https://api.example/hooks/0&label=order-${one(n * 20)}`],
    ['messages, 100 by a label, oldest first', () => `${queue}?label=kind-2`],
    ['messages, 100 by status, oldest first', () => `${queue}?responseStatus=500`],
    ['runs, status of the function, none', () => `${runs}?failureFunctionState=CALLBACK_FAIL`],
    ['runs, one run id', (n) => `${runs}?workflowRunId=wfr_${one(n) + 1}`],
    ['runs, 100 by address, oldest first', () => `${runs}?callerIp=127.0.0.1&count=100`],
  ];
  console.log(`dead letters, deleted (each answer waits for the disk)\n${LATENCY_HEAD}`);
  for (const [name, query] of deleted) {
    await rig.latency(child, name, { ask: (round) => rig.send('DELETE', query(round)) });
  }
  console.log(`${mega(child)} resident afterwards`);
}
