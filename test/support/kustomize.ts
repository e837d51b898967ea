/** Renders manifests as users do, with the kustomize of kubectl. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { MODELS } from './kubernetes-models.ts';
import { installed } from './program.ts';

export const KUBERNETES = join(import.meta.dirname, '../../deploy/kubernetes');

/** Any object of Kubernetes. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
}

export const kubectl = installed('kubectl');

/** @throws {Error} when it fails or warns */
export function kustomize(folder: string): readonly Manifest[] {
  const { stdout, stderr, status } = spawnSync(kubectl!, ['kustomize', folder], {
    encoding: 'utf8',
    maxBuffer: 64 << 20,
  });
  if (status !== 0 || stderr !== '') throw new Error(`kubectl kustomize ${folder}: ${stderr}`);
  return parseAllDocuments(stdout).map((document) => document.toJS() as Manifest);
}

type Kind = keyof typeof MODELS;

export type Of<K extends Kind> = NonNullable<ConstructorParameters<(typeof MODELS)[K]>[0]> & Manifest;

export function all<K extends Kind>(manifests: readonly Manifest[], kind: K): Of<K>[] {
  return manifests.filter((manifest) => manifest.kind === kind);
}

/** Returns the single object of this kind and name. */
export function only<K extends Kind>(manifests: readonly Manifest[], kind: K, name = 'opsd'): Of<K> {
  const found = all(manifests, kind).filter(({ metadata }) => metadata.name === name);
  if (found.length !== 1) throw new Error(`${found.length} objects are ${kind} ${name}`);
  return found[0]!;
}

/** Returns the pod of a Deployment, and its first container. */
export function podOf(manifests: readonly Manifest[], name = 'opsd') {
  const { template: pod } = only(manifests, 'Deployment', name).spec!;
  return { metadata: pod.metadata!, spec: pod.spec!, container: pod.spec!.containers[0]! };
}
