/** Variables of every dashboard in order, and additional ones of a dashboard. */
import {
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';
import type { VariableModel } from '@grafana/grafana-foundation-sdk/dashboard';
import { DATASOURCE } from './datasource.ts';
import { samples } from './selectors.ts';
import type { SeriesName } from './selectors.ts';

type Variable = { build(): VariableModel };

export interface LabelVariable {
  readonly name: string;
  readonly label: string;
  readonly description: string;
  /** Series of the values, and its label. */
  readonly of: SeriesName;
  readonly value: string;
}

export function baseVariables(): Variable[] {
  return [
    complete(
      new DatasourceVariableBuilder('datasource')
        .label('Data source')
        .description('The Prometheus that scrapes the daemon.')
        .type('prometheus'),
      // Empty: Grafana selects the default Prometheus.
      { current: {} },
    ),
    // Exported from the first run on and never withheld.
    multi('account', 'Account', 'Configured accounts.', 'label_values(opsd_collector_runs_total, account)'),
    multi('job', 'Job', 'Job name of the scrape in Prometheus.', 'label_values(opsd_build_info, job)'),
    multi('instance', 'Instance', 'Daemons.', 'label_values(opsd_build_info{job=~"$job"}, instance)'),
  ];
}

/** Returns a variable over the values of a label, with all values selected at first. */
export function labelVariable({ name, label, description, of, value }: LabelVariable): Variable {
  return multi(name, label, description, `label_values(${samples(of)}, ${value})`);
}

/** Returns a variable in the form that Grafana saves, so that its editor shows it. */
function multi(name: string, label: string, description: string, query: string): Variable {
  const builder = new QueryVariableBuilder(name)
    .label(label)
    .description(description)
    .datasource(DATASOURCE)
    .query({ qryType: 1, query, refId: 'PrometheusVariableQueryEditor-VariableQuery' })
    .multi(true)
    .includeAll(true)
    .allValue('.+')
    .current({ selected: true, text: ['All'], value: ['$__all'] })
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc);
  return complete(builder, { definition: query });
}

/** Adds the fields that the SDK omits and Grafana saves in every variable. */
function complete(builder: Variable, more: Readonly<Record<string, unknown>>): Variable {
  return { build: () => ({ options: [], regex: '', hide: 0, ...builder.build(), ...more }) };
}
