/** Builds a dashboard: classic JSON that Grafana 10 to 13 read from files. */
import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { DashboardBuilder, DashboardCursorSync } from '@grafana/grafana-foundation-sdk/dashboard';
import { annotations } from './annotations.ts';
import { laidOut } from './layout.ts';
import type { Row } from './layout.ts';
import { TAG, topLinks } from './links.ts';
import type { Uid } from './links.ts';
import { baseVariables, labelVariable } from './variables.ts';
import type { LabelVariable } from './variables.ts';

/** Schema version of Grafana 10.0. Later versions migrate it on load. */
const SCHEMA_VERSION = 38;

export interface DashboardSpec {
  readonly uid: Uid;
  readonly title: string;
  readonly description: string;
  /** Version, raised manually with each change that users should see in Grafana's version list. */
  readonly version?: number;
  readonly from?: string;
  /** Variables in addition to datasource, account, job and instance. */
  readonly variables?: readonly LabelVariable[];
  readonly rows: readonly Row[];
}

export function dashboard(spec: DashboardSpec): Dashboard {
  const { uid, title, description, version = 1, from = 'now-6h', variables = [], rows } = spec;
  const built = new DashboardBuilder(title)
    .uid(uid)
    .description(description)
    .version(version)
    .tags([TAG])
    .timezone('browser')
    .tooltip(DashboardCursorSync.Crosshair)
    .time({ from, to: 'now' })
    .refresh('1m')
    .variables([...baseVariables(), ...variables.map((variable) => labelVariable(variable))])
    .links(topLinks(uid))
    .build();
  return {
    ...built,
    id: null,
    schemaVersion: SCHEMA_VERSION,
    annotations: { list: annotations() },
    panels: laidOut(rows),
  };
}
