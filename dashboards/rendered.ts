/** Returns the files of the dashboards: their paths in this folder, and their text. */
import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { importVariant } from './parts/import-variant.ts';

export function rendered(dashboards: readonly Dashboard[]): Map<string, string> {
  const files = new Map<string, string>();
  for (const dashboard of dashboards) {
    files.set(`json/${dashboard.uid}.json`, printed(dashboard));
    files.set(`import/${dashboard.uid}.json`, printed(importVariant(dashboard)));
  }
  files.set('kustomization.yaml', kustomization(dashboards.map(({ uid }) => uid!)));
  return files;
}

/**
 * Returns the kustomization for deploy/kubernetes/components/grafana-dashboards. kustomize reads only files in its own
 * folder, without patterns.
 */
function kustomization(uids: readonly string[]): string {
  const maps = uids.map((uid) => `  - name: ${uid}-dashboard\n    files: [json/${uid}.json]\n`);
  return `# Rendered by \`npm run dashboards\`: a ConfigMap for each dashboard, as Grafana's sidecar looks for them.
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
generatorOptions:
  disableNameSuffixHash: true
  labels:
    grafana_dashboard: "1"
    app.kubernetes.io/name: opsd
    app.kubernetes.io/instance: opsd
    app.kubernetes.io/part-of: msgsvc-opsd
configMapGenerator:
${maps.join('')}`;
}

function printed(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
