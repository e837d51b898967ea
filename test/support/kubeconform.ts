/** Checks manifests with kubeconform, with schemas that are made from the packages of models. It needs no network. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { definitions, nameOf } from '../../deploy/helm/kubernetes-schema.ts';
import type { Manifest } from './kustomize.ts';
import { installed } from './program.ts';

export const kubeconform = installed('kubeconform');

const OPERATOR = '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1';
/** Models by the group and the version of their API. The group of the core is called v1. */
const MODELS: Readonly<Record<string, readonly string[]>> = {
  v1_v1: ['ConfigMap', 'Namespace', 'PersistentVolumeClaim', 'Secret', 'Service', 'ServiceAccount'].map(
    (kind) => `kubernetes-models/v1/${kind}`,
  ),
  apps_v1: ['kubernetes-models/apps/v1/Deployment'],
  'networking.k8s.io_v1': ['Ingress', 'NetworkPolicy'].map((kind) => `kubernetes-models/networking.k8s.io/v1/${kind}`),
  policy_v1: ['kubernetes-models/policy/v1/PodDisruptionBudget'],
  'monitoring.coreos.com_v1': ['PodMonitor', 'PrometheusRule', 'ServiceMonitor'].map((kind) => `${OPERATOR}/${kind}`),
};

/** Creates the folder of schemas. The caller removes it. */
export function kubernetesSchemas(): string {
  const folder = mkdtempSync(join(tmpdir(), 'opsd-schemas-'));
  for (const [version, modules] of Object.entries(MODELS))
    for (const module of modules) {
      const schema = { $ref: `#/definitions/${nameOf(module)}`, definitions: definitions([module]) };
      const kind = module.split('/').at(-1)!.toLowerCase();
      writeFileSync(join(folder, `${version}_${kind}.json`), JSON.stringify(schema));
    }
  const grafana = 'grafana.integreatly.org_v1beta1_grafanadashboard.json';
  copyFileSync(join(import.meta.dirname, 'kubernetes', grafana), join(folder, grafana));
  return folder;
}

/** Returns the objects that kubeconform rejects, with its reason. */
export function invalidObjects(manifests: readonly Manifest[], schemas: string): string[] {
  const location = join(schemas, '{{ .Group }}_{{ .ResourceAPIVersion }}_{{ .ResourceKind }}.json');
  const { stdout, stderr, error } = spawnSync(
    kubeconform!,
    ['-strict', '-output=json', '-verbose', `-schema-location=${location}`, '-'],
    { encoding: 'utf8', maxBuffer: 64 << 20, input: manifests.map((one) => JSON.stringify(one)).join('\n---\n') },
  );
  if (error !== undefined || stderr !== '') throw error ?? new Error(`kubeconform: ${stderr}`);
  const { resources } = JSON.parse(stdout) as {
    resources: readonly { kind: string; name: string; status: string; msg: string }[];
  };
  if (resources.length !== manifests.length) throw new Error(`kubeconform: ${stdout}`);
  return resources
    .filter(({ status }) => status !== 'statusValid')
    .map(({ kind, name, status, msg }) => `${kind} ${name}: ${status} ${msg}`);
}
