/** Faults of the shop and actions on it, so that quiet panels have data. */
import type { Fault } from '../../dashboards/quiet.ts';
import { scrape } from '../support/exposition.ts';
import type { Prometheus } from '../support/prometheus.ts';
import { trigger } from '../support/service.ts';
import { HOOK_TOKEN, QUIET_HOST, type TroubledShop } from '../support/troubled-shop.ts';
import { until } from '../support/until.ts';

const MINUTE = 60_000;

type Bring = (shop: TroubledShop, source: Prometheus) => Promise<void>;

/** Faults that can be active together, in this order. Later phases may undo earlier ones. */
export const PHASES: readonly (readonly Fault[])[] = [
  ['spending', 'reload', 'deploy', 'pause', 'outage', 'refusal', 'hooks'],
  ['raise', 'hours', 'day'],
];

const RAISE = 'raise-budget';

export const FAULTS: Readonly<Record<Fault, Bring>> = {
  /** At this rate the known budget is spent before the month ends. */
  async spending(shop) {
    const { spent, forecast } = await until({ what: 'the spend of the month is known' }, async () => {
      const metrics = await scrape(shop.url);
      const spent = metrics.value('msgsvc_account_month_billing_dollars');
      const forecast = metrics.value('msgsvc_account_month_billing_forecast_dollars');
      return spent !== undefined && forecast !== undefined && { spent, forecast };
    });
    const budget = {
      knownUsd: Math.max(20, Math.floor((spent + forecast) / 2)),
      assertedOn: new Date().toISOString().slice(0, 10),
    };
    await shop.configure((settings) => {
      const [account] = settings['accounts'] as [object];
      return { ...settings, accounts: [{ ...account, budget }], ...onlyRaise(settings, 'audit') };
    });
  },
  /** A policy raises it after an operator's approval, because the store is no older than the assertion. */
  async raise(shop, source) {
    await shop.configure((settings) => ({ ...settings, ...onlyRaise(settings, 'enforce') }));
    // A newer plan may replace the one that was found.
    await until({ what: 'a raise is approved' }, async () => {
      const answer = await fetch(`${shop.url}/api/v1/plans?state=pending`);
      const { plans } = (await answer.json()) as { plans: readonly { id: string; policy: string }[] };
      const plan = plans.find(({ policy }) => policy === RAISE);
      if (plan === undefined) return false;
      await shop.command('approve', plan.id, '--yes');
      return true;
    });
    // A later fault restarts the daemon, so Prometheus must have scraped the increase before.
    await until({ what: 'Prometheus knows that the budget is raised' }, async () => {
      return (await source.value(`sum(increase(opsd_action_items_total{policy="${RAISE}"}[5m]))`)) > 0;
    });
  },
  reload: async (shop) => shop.command('reload'),
  deploy: async (shop) => shop.command('deploy', 'v42', '--of', 'app.shop.example'),
  pause: async (shop) => shop.command('pause', '--policy', 'prune-old-mail', '--reason', 'a test'),
  /**
   * A busy host fails, and so does a quiet one. The daemon sees the busy host's failures and holds its resumes. It knows
   * too little of the quiet host, so it sends a canary, which fails: the group is halted.
   */
  async outage({ emulator, service }) {
    for (const host of ['app.shop.example', QUIET_HOST]) {
      await emulator.destinations.script(host, [{ status: 503, times: 1_000_000 }]);
    }
    await trigger(service, `https://${QUIET_HOST}/run`, { 'Svc-Retries': '0', 'Svc-Label': 'quiet' });
  },
  /** One source is unreadable, and rows of another cannot be parsed. */
  async refusal({ emulator: { control } }) {
    control.faults.add({ operations: ['get-vector-stats'], fault: { kind: 'status', status: 500 } });
    control.faults.add({
      operations: ['list-workflow-dlq'],
      times: 3,
      fault: { kind: 'missing-fields', fields: ['dlqId'] },
    });
  },
  /** An alert for which a policy waits, and unauthenticated requests. */
  async hooks({ hooks }) {
    const at = new Date().toISOString();
    const alert = {
      status: 'firing',
      labels: { alertname: 'WorkflowsFail', account: 'shop' },
      startsAt: at,
      fingerprint: 'abc',
    };
    const body = JSON.stringify({ version: '4', groupKey: '{}', status: 'firing', receiver: 'opsd', alerts: [alert] });
    const post = async (path: string, token: string): Promise<number> => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      return (await fetch(`${hooks}/hooks/${path}`, { method: 'POST', headers, body })).status;
    };
    const answers = [
      await post('alertmanager/main', HOOK_TOKEN),
      await post('alertmanager/main', 'of a stranger'),
      await post('callbacks/shop', 'of a stranger'),
    ];
    if (String(answers) !== '202,401,401') throw new Error(`the hooks answered ${String(answers)}`);
  },
  /** Waits until the log has a complete hour with traffic, and late entries have arrived. */
  async hours(shop) {
    const intoHour = (shop.emulator.control.clock().now / MINUTE) % 60;
    await shop.pass((90 - intoHour) * MINUTE, 55 * MINUTE);
  },
  /** Waits until the points of the day can be compared. Most of the time they can already. */
  async day(shop) {
    const intoDay = (shop.emulator.control.clock().now / MINUTE) % 1_440;
    if (intoDay < 130) await shop.pass((130 - intoDay) * MINUTE);
  },
};

/** Returns the policies, with another mode of the one that raises the budget. */
function onlyRaise(
  settings: Readonly<Record<string, unknown>>,
  mode: string,
): { readonly policies: readonly object[] } {
  const policies = settings['policies'] as readonly { readonly name: string }[];
  return { policies: policies.map((policy) => (policy.name === RAISE ? { ...policy, mode } : policy)) };
}
