/** Links between dashboards. Each passes on the variables and the time range. */
import { DashboardLinkBuilder, DashboardLinkType } from '@grafana/grafana-foundation-sdk/dashboard';

export const TAG = 'msgsvc-opsd';

/** Uids of all dashboards, the possible targets of links. */
export const UIDS = [
  'opsd-overview',
  'opsd-deliveries',
  'opsd-dlq',
  'opsd-workflows',
  'opsd-flow-control',
  'opsd-spend',
  'opsd-search',
  'opsd-policies',
  'opsd-daemon',
] as const;

export type Uid = (typeof UIDS)[number];

export interface LinkTo {
  readonly uid: Uid;
  readonly title: string;
  /** Additional variables of the target, such as `{ destination: '${__field.labels.destination}' }`. */
  readonly vars?: Readonly<Record<string, string>>;
}

export function linkTo(uid: Uid, title: string, vars: Readonly<Record<string, string>> = {}): LinkTo {
  return { uid, title, vars };
}

const CARRIED = ['datasource', 'account', 'job', 'instance'] as const;

/** Returns a link of a panel or of its data. */
export function panelLink({ uid, title, vars = {} }: LinkTo): DashboardLinkBuilder {
  const own = Object.entries(vars).map(([name, value]) => `var-${name}=${value}`);
  const carried = CARRIED.filter((name) => !(name in vars)).map((name) => `\${${name}:queryparam}`);
  const url = `/d/${uid}?${[...carried, ...own, '${__url_time_range}'].join('&')}`;
  return new DashboardLinkBuilder(title).type(DashboardLinkType.Link).url(url);
}

/** Returns the links at the top of a dashboard: the overview, and a list of all. */
export function topLinks(uid: Uid): DashboardLinkBuilder[] {
  const all = new DashboardLinkBuilder('Dashboards')
    .type(DashboardLinkType.Dashboards)
    .tags([TAG])
    .asDropdown(true)
    .includeVars(true)
    .keepTime(true);
  if (uid === 'opsd-overview') return [all];
  const overview = new DashboardLinkBuilder('Overview')
    .type(DashboardLinkType.Link)
    .url('/d/opsd-overview')
    .icon('dashboard')
    .includeVars(true)
    .keepTime(true);
  return [overview, all];
}
