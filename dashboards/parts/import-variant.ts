/** Variant for manual import: Grafana asks for the datasource and lists the requirements. */
import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';

const INPUT = 'DS_PROMETHEUS';

export function importVariant(dashboard: Dashboard): object {
  const types = new Set((dashboard.panels ?? []).map((panel) => panel.type).filter((type) => type !== 'row'));
  const current = { selected: true, text: `\${${INPUT}}`, value: `\${${INPUT}}` };
  return {
    __inputs: [
      {
        name: INPUT,
        label: 'Prometheus',
        description: 'The Prometheus that scrapes the daemon',
        type: 'datasource',
        pluginId: 'prometheus',
        pluginName: 'Prometheus',
      },
    ],
    __requires: [
      { type: 'grafana', id: 'grafana', name: 'Grafana', version: '10.0.0' },
      { type: 'datasource', id: 'prometheus', name: 'Prometheus', version: '1.0.0' },
      ...[...types].sort().map((id) => ({ type: 'panel', id, name: id, version: '' })),
    ],
    ...dashboard,
    templating: {
      list: dashboard.templating.list?.map((variable) =>
        variable.name === 'datasource' ? { ...variable, current } : variable,
      ),
    },
  };
}
