/** State of policies within the first minutes of `npm start`, as the daemon reports it. */
import { expect, test } from 'vitest';
import { clockedOpsd, opsd } from '../support/program.ts';
import { until } from '../support/until.ts';

interface ActionRow {
  readonly policy: string;
  readonly target: string;
  readonly outcome?: string;
}

interface RunRow {
  readonly policy: string;
  readonly outcome: string;
  readonly acted: number;
  readonly detail?: string;
}

const WITHIN = { timeoutMs: 300_000 };

test('a campaign that stops and continues, a prune, an approved raise up to its ceiling, a pending plan', async () => {
  // At higher speed, the outage ends before the policy runs on a busy machine.
  const time = { speed: 2, since: Date.now() };
  const demo = clockedOpsd(time, ['demo', '--listen', '127.0.0.1:0', '--seed', '7']);
  const { url, socket } = await until({ what: 'the addresses are printed', timeoutMs: 30_000 }, () =>
    demo.stdout().includes('\n') ? (JSON.parse(demo.stdout()) as { url: string; socket: string }) : undefined,
  );
  const ask = async <T>(path: string): Promise<T> => (await (await fetch(`${url}/api/v1/${path}`)).json()) as T;
  const actionsOf = async (policy: string): Promise<readonly ActionRow[]> =>
    (await ask<{ actions: readonly ActionRow[] }>('actions?limit=500')).actions.filter((row) => row.policy === policy);
  const runsOf = async (policy: string): Promise<readonly RunRow[]> =>
    (await ask<{ runs: readonly RunRow[] }>(`runs?policy=${policy}&limit=100`)).runs.filter(
      (row) => row.policy === policy,
    );
  const repaired = async (): Promise<number> =>
    (await actionsOf('resume-billing')).filter(({ outcome }) => outcome === 'verified').length;
  const active = async (): Promise<readonly string[]> =>
    (await ask<{ conditions: readonly { key: string }[] }>('conditions')).conditions.map(({ key }) => key);

  /** A step that meets an outage halts the campaign. If the log shows the outage first, no step is sent. */
  const isStopped = async (): Promise<boolean> =>
    (await active()).some((key) => key.startsWith('halted/resume-billing/') || key === 'held/resume-billing');

  async function campaignStopsAndContinues(): Promise<void> {
    await until({ what: 'the campaign stopped, because its destination fails', ...WITHIN }, isStopped);
    await until({ what: 'the campaign continued when it delivered again', ...WITHIN }, async () => {
      return !(await isStopped()) && (await repaired()) > 0;
    });
  }

  async function plansAndPrunes(): Promise<void> {
    await until({ what: 'a plan waits for a person', ...WITHIN }, async () =>
      (await active()).includes('approval/resume-onboarding'),
    );

    await until({ what: 'a prune deleted mails', ...WITHIN }, async () =>
      (await actionsOf('prune-old-mail')).some(({ outcome }) => outcome === 'verified'),
    );
    // Its first runs were in audit.
    const prunes = (await runsOf('prune-old-mail')).toReversed();
    expect(prunes.slice(0, 2).map(({ acted, detail }) => [acted, detail?.includes('probation')])).toEqual([
      [0, true],
      [0, true],
    ]);

    // The store was created on the day of the budget's assertion.
    const { id } = await until({ what: 'a raise waits for a person', ...WITHIN }, async () =>
      (await ask<{ plans: readonly { id: string; policy: string }[] }>('plans?state=pending')).plans.find(
        ({ policy }) => policy === 'raise-budget',
      ),
    );
    expect(await opsd(['approve', id, '--yes', '--socket', socket]).ended).toMatchObject({ code: 0 });
    const raise = await until({ what: 'the budget was raised', ...WITHIN }, async () =>
      (await actionsOf('raise-budget')).find(({ outcome }) => outcome === 'verified'),
    );
    // 20 % more would be 180.
    expect(raise.target).toMatch(/^budget\/\d+\/170$/);
  }

  await Promise.all([campaignStopsAndContinues(), plansAndPrunes()]);

  // Nothing was approved, and nothing exceeds the ceiling.
  expect(await actionsOf('resume-onboarding')).toEqual([]);
  expect(await actionsOf('raise-budget')).toHaveLength(1);
  demo.kill('SIGINT');
  expect(await demo.ended).toEqual({ code: 0, signal: null });
  expect(demo.log().filter((line) => line['level'] === 'error')).toEqual([]);
}, 600_000);
