/** The parts of Grafana's classic dashboard JSON that tests read: those that query a datasource or are rendered. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly schemaVersion?: number;
  readonly panels: readonly Panel[];
  readonly links?: readonly Link[];
  readonly templating: { readonly list: readonly Variable[] };
  readonly annotations: { readonly list: readonly Annotation[] };
}

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly pluginVersion?: string;
  readonly title?: string;
  readonly description?: string;
  readonly links?: readonly Link[];
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly datasource?: DataSource;
  readonly targets?: readonly Target[];
  readonly fieldConfig?: FieldConfig;
  readonly options?: Readonly<Record<string, unknown>>;
  readonly transformations?: readonly { readonly id: string; readonly options?: Readonly<Record<string, unknown>> }[];
  /** Smallest interval, such as `30s`. */
  readonly interval?: string | null;
  /** Panels of a collapsed row. */
  readonly panels?: readonly Panel[];
}

export interface Link {
  readonly title?: string;
  readonly type?: string;
  readonly url?: string;
  readonly includeVars?: boolean;
  readonly keepTime?: boolean;
}

export interface DataSource {
  readonly type?: string;
  readonly uid?: string;
}

export interface Target {
  readonly refId: string;
  readonly datasource?: DataSource;
  readonly expr?: string;
  readonly instant?: boolean;
  readonly range?: boolean;
  readonly exemplar?: boolean;
  readonly legendFormat?: string;
}

export interface Variable {
  readonly name: string;
  readonly type: string;
  readonly query?: string | { readonly query?: string };
  readonly datasource?: DataSource | null;
  readonly allValue?: string | null;
  readonly multi?: boolean;
}

interface Annotation {
  readonly name: string;
  readonly datasource?: DataSource | null;
  readonly expr?: string;
}

interface Threshold {
  readonly color: string;
  readonly value: number | null;
}

export interface Mapping {
  readonly type: string;
  readonly options: Readonly<Record<string, unknown>>;
}

export interface FieldSettings {
  readonly unit?: string;
  readonly decimals?: number;
  readonly min?: number;
  readonly max?: number;
  readonly links?: readonly Link[];
  readonly color?: { readonly mode?: string; readonly fixedColor?: string };
  readonly thresholds?: { readonly steps?: readonly Threshold[] };
  readonly mappings?: readonly Mapping[];
  readonly noValue?: string;
  readonly custom?: Readonly<Record<string, unknown>>;
}

interface FieldConfig {
  readonly defaults?: FieldSettings;
  readonly overrides?: readonly {
    readonly matcher: { readonly id?: string; readonly options?: unknown };
    readonly properties: readonly { readonly id: string; readonly value?: unknown }[];
  }[];
}

/** Panels with static content and no queries. */
const WITHOUT_QUERIES = new Set(['text', 'row', 'dashlist']);

export function readDashboards(folder: string): readonly Dashboard[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
  return files.sort().map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Dashboard);
}

/** Returns all panels, those in collapsed rows too, in the order of the page. */
export function panelsOf({ panels }: Pick<Dashboard, 'panels'>): readonly Panel[] {
  return panels.flatMap((panel) => [panel, ...(panel.panels ?? [])]);
}

/** Returns the panels that query the datasource. */
export function asking(dashboard: Dashboard): readonly Panel[] {
  return panelsOf(dashboard).filter(({ type }) => !WITHOUT_QUERIES.has(type));
}
