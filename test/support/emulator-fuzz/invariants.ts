/** Invariants of an emulator after any load, once no event is left. */
import type { RunningEmulator } from '#emulator/emulator.ts';
import type { Credentials } from './draft.ts';

const DAY_MS = 86_400_000;
/** Hanging destinations take a timeout per attempt, and those of a key wait for each other. */
const MOST_DAYS = 100;
const ENDS = new Set(['DELIVERED', 'FAILED', 'CANCELLED']);

interface Entry {
  readonly messageId: string;
  readonly state: string;
}

/**
 * Removes all that holds messages back, and moves time until they have ended.
 *
 * @returns the violations
 */
export async function brokenInvariants(
  emulator: RunningEmulator,
  { token, management }: Credentials,
): Promise<string[]> {
  const { control } = emulator;
  control.faults.clear();
  for (const { id, flowControl } of control.state().accounts) {
    control.setAccount({ account: id, state: 'active', modifyingState: null, plan: 'enterprise' });
    for (const { flowControlKey: key } of flowControl) {
      control.hold({ account: id, key, paused: false, parallelism: null, rate: null });
    }
  }
  for (let day = 0; day < MOST_DAYS && !allEnded(emulator); day++) {
    await emulator.advance(DAY_MS, { patienceMs: 20 });
  }

  const wrong: string[] = [];
  for (const { id, messages, flowControl } of control.state().accounts) {
    for (const state of Object.keys(messages)) if (!ENDS.has(state)) wrong.push(`${id} has messages that are ${state}`);
    for (const { flowControlKey, parallelismCount, waitListSize } of flowControl) {
      if (parallelismCount + waitListSize > 0) {
        wrong.push(`${id}: ${flowControlKey} has ${parallelismCount} running and ${waitListSize} waiting`);
      }
    }
    wrong.push(...(await wrongFigures(emulator, id, management)));
  }
  wrong.push(...wrongHistory(await allEntries(emulator, token)));
  return wrong;
}

function allEnded({ control }: RunningEmulator): boolean {
  return control.state().accounts.every(({ messages }) => Object.keys(messages).every((state) => ENDS.has(state)));
}

function wrongHistory(entries: readonly Entry[]): string[] {
  const wrong: string[] = [];
  const count = (state: string): number => entries.filter((entry) => entry.state === state).length;
  const [errors, retries, failures] = ['ERROR', 'RETRY', 'FAILED'].map(count) as [number, number, number];
  if (errors !== retries + failures) wrong.push(`log: ${errors} errors, ${retries} retries, ${failures} failures`);
  const ends = new Map<string, number>();
  for (const { messageId, state } of entries) {
    ends.set(messageId, (ends.get(messageId) ?? 0) + (ENDS.has(state) ? 1 : 0));
  }
  for (const [messageId, times] of ends) if (times !== 1) wrong.push(`${messageId} has ${times} ends`);
  return wrong;
}

/** Reads page by page over HTTP: every returned cursor must be accepted. */
async function allEntries({ url }: RunningEmulator, token: string): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined;) {
    const answer = await fetch(`${url}/v2/logs?cursor=${cursor}`, { headers: { Authorization: `Bearer ${token}` } });
    if (answer.status !== 200) throw new Error(`the cursor ${cursor} was answered ${answer.status}`);
    const page = (await answer.json()) as { readonly cursor?: string; readonly logs: readonly Entry[] };
    entries.push(...page.logs);
    ({ cursor } = page);
  }
  return entries;
}

interface Series {
  readonly id: string;
  readonly data_points: readonly { readonly y: number }[];
}

async function wrongFigures({ url }: RunningEmulator, account: string, management: string): Promise<string[]> {
  const headers = { Authorization: `Basic ${btoa(management)}` };
  const answer = await fetch(`${url}/v2/msgsvc/stats/${account}?period=30d`, { headers });
  const stats = (await answer.json()) as Readonly<Record<string, readonly Series[]>>;
  return ['daily_msgsvc_messages', 'daily_workflow_messages'].flatMap((name) => {
    const sum = (id: string): number =>
      stats[name]!.filter((series) => series.id === id)
        .flatMap((series) => series.data_points)
        .reduce((total, { y }) => total + y, 0);
    const [errors, retries, failures] = [sum('error'), sum('retry'), sum('failed')];
    if (errors === retries + failures) return [];
    return [`${account} ${name}: ${errors} errors, ${retries} retries, ${failures} failures`];
  });
}
