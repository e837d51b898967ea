/**
 * Checks manifests as the API of Kubernetes would: values by the models' own validation, and unknown fields by the
 * compiler, which rejects them in a literal of the model's type.
 */
import { spawnSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PodMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PodMonitor';
import { PrometheusRule } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule';
import { ServiceMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor';
import { Deployment } from 'kubernetes-models/apps/v1/Deployment';
import { Ingress } from 'kubernetes-models/networking.k8s.io/v1/Ingress';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import { ConfigMap } from 'kubernetes-models/v1/ConfigMap';
import { Namespace } from 'kubernetes-models/v1/Namespace';
import { PersistentVolumeClaim } from 'kubernetes-models/v1/PersistentVolumeClaim';
import { Secret } from 'kubernetes-models/v1/Secret';
import { Service } from 'kubernetes-models/v1/Service';
import { ServiceAccount } from 'kubernetes-models/v1/ServiceAccount';
import type { Manifest } from './kustomize.ts';
import { tempDir } from './temp-dir.ts';

const ROOT = join(import.meta.dirname, '../..');

export const MODELS = {
  ConfigMap,
  Deployment,
  Ingress,
  Namespace,
  NetworkPolicy,
  PersistentVolumeClaim,
  PodDisruptionBudget,
  PodMonitor,
  PrometheusRule,
  Secret,
  Service,
  ServiceAccount,
  ServiceMonitor,
} as const;

/** Returns complaints about values: a wrong type, a missing field. */
export function invalidValues(manifests: readonly Manifest[]): string[] {
  return manifests.flatMap((manifest) => {
    const Model = (MODELS as Readonly<Record<string, new (data: never) => { validate(): void }>>)[manifest.kind];
    if (Model === undefined) return [`no model of ${manifest.kind}`];
    try {
      new Model(manifest as never).validate();
      return [];
    } catch (error) {
      return [`${manifest.kind} ${manifest.metadata.name}: ${(error as Error).message}`];
    }
  });
}

/** Returns the compiler's complaint for each manifest; undefined where it has none. */
export function strictComplaints(manifests: readonly Manifest[]): readonly (string | undefined)[] {
  const folder = tempDir();
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  // One line each, so that the line of a complaint identifies the manifest.
  const lines = manifests.map(
    (manifest, index) =>
      `export const m${index}: import('${modulePath(manifest)}').I${manifest.kind} = ${JSON.stringify(manifest)};`,
  );
  writeFileSync(join(folder, 'manifests.ts'), lines.join('\n'));
  const flags = '--noEmit --pretty false --strict --module nodenext --target es2024 --skipLibCheck --types node'.split(
    ' ',
  );
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [join(ROOT, 'node_modules/typescript/bin/tsc'), ...flags, 'manifests.ts'],
    { cwd: folder, encoding: 'utf8', maxBuffer: 64 << 20 },
  );
  const complaints = new Map(
    [...stdout.matchAll(/^manifests\.ts\((\d+),\d+\): error (.*)$/gm)].map(([, line, text]) => [Number(line), text!]),
  );
  if (stderr !== '' || (status !== 0) !== complaints.size > 0) throw new Error(`tsc: ${status} ${stderr}${stdout}`);
  return manifests.map((_manifest, index) => complaints.get(index + 1));
}

function modulePath({ apiVersion, kind }: Manifest): string {
  const group = apiVersion.startsWith('monitoring.coreos.com/')
    ? '@kubernetes-models/prometheus-operator'
    : 'kubernetes-models';
  return `${group}/${apiVersion}/${kind}`;
}
