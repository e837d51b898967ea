/** Types of the chart's values. Their descriptions are the comments of values.yaml. */
import { nameOf, type Schema } from './kubernetes-schema.ts';

/** A value, or a map of values. */
export type Shape = Schema | Group;
export class Group {
  readonly shapes: Readonly<Record<string, Shape>>;
  constructor(shapes: Readonly<Record<string, Shape>>) {
    this.shapes = shapes;
  }
}

/** Types of Kubernetes that values have. */
export const KUBERNETES_TYPES: readonly string[] = [
  'kubernetes-models/v1/Affinity',
  'kubernetes-models/v1/Container',
  'kubernetes-models/v1/EnvFromSource',
  'kubernetes-models/v1/EnvVar',
  'kubernetes-models/v1/HostAlias',
  'kubernetes-models/v1/LocalObjectReference',
  'kubernetes-models/v1/PodDNSConfig',
  'kubernetes-models/v1/PodSecurityContext',
  'kubernetes-models/v1/ResourceRequirements',
  'kubernetes-models/v1/SecurityContext',
  'kubernetes-models/v1/Toleration',
  'kubernetes-models/v1/TopologySpreadConstraint',
  'kubernetes-models/v1/Volume',
  'kubernetes-models/v1/VolumeMount',
  'kubernetes-models/v1/VolumeProjection',
  'kubernetes-models/networking.k8s.io/v1/NetworkPolicyEgressRule',
  'kubernetes-models/networking.k8s.io/v1/NetworkPolicyPeer',
  '@kubernetes-models/apimachinery/apis/meta/v1/LabelSelector',
  '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/RelabelConfig',
];

/** Refers to a type of Kubernetes by the end of its name. */
function kubernetes(type: string): Schema {
  const module = KUBERNETES_TYPES.find((one) => one.endsWith(`/${type}`));
  if (module === undefined) throw new Error(`KUBERNETES_TYPES has no ${type}`);
  return { $ref: `#/definitions/${nameOf(module)}` };
}

const listOf = (items: Schema): Schema => ({ type: 'array', items });
const oneOf = (...values: readonly (string | number | boolean)[]): Schema => ({ enum: values });
const matching = (pattern: string): Schema => ({ type: 'string', pattern });

const text: Schema = { type: 'string' };
const flag: Schema = { type: 'boolean' };
const seconds: Schema = { type: 'integer', minimum: 1 };
const strings: Schema = { type: 'object', additionalProperties: text };
/** Name of an object, or empty. */
const name = matching('^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)?$');
const duration = matching('^([0-9]+(ms|s|m|h))+$');
const url = matching('^(https?://\\S+)?$');

const secret = new Group({ name, optional: flag });
const probe: Schema = {
  type: 'object',
  properties: {
    initialDelaySeconds: { type: 'integer', minimum: 0 },
    periodSeconds: seconds,
    timeoutSeconds: seconds,
    failureThreshold: seconds,
    successThreshold: seconds,
    terminationGracePeriodSeconds: seconds,
  },
  additionalProperties: false,
};

export const VALUES = new Group({
  image: new Group({
    repository: { type: 'string', minLength: 1 },
    tag: matching('^[A-Za-z0-9_.-]{0,128}$'),
    digest: matching('^(sha256:[0-9a-f]{64})?$'),
    pullPolicy: oneOf('', 'Always', 'IfNotPresent', 'Never'),
  }),
  imagePullSecrets: listOf(kubernetes('LocalObjectReference')),
  nameOverride: matching('^([a-z]([a-z0-9-]{0,38}[a-z0-9])?)?$'),
  // A name of Services. With the longest suffix it has at most 63 characters.
  fullnameOverride: matching('^([a-z]([a-z0-9-]{0,38}[a-z0-9])?)?$'),
  // Helm passes it to the charts that another chart depends on.
  global: { type: 'object', additionalProperties: true },
  enabled: oneOf(true),
  labels: strings,
  annotations: strings,
  config: { $ref: '#/definitions/config' },
  policies: { $ref: '#/definitions/config/properties/policies' },
  configSources: listOf(kubernetes('VolumeProjection')),
  secrets: new Group({ service: secret, hooks: secret, api: secret, notify: secret }),
  webConfig: new Group({
    enabled: flag,
    secretName: name,
    tlsSecretName: name,
    scrapeSecretName: name,
    serverName: name,
  }),
  hooks: new Group({
    enabled: flag,
    service: new Group({
      type: oneOf('ClusterIP', 'NodePort', 'LoadBalancer'),
      labels: strings,
      annotations: strings,
    }),
    ingress: new Group({
      enabled: flag,
      className: name,
      host: name,
      paths: { ...listOf(matching('^/hooks/')), minItems: 1 },
      tlsSecretName: name,
      labels: strings,
      annotations: strings,
    }),
  }),
  service: new Group({ labels: strings, annotations: strings }),
  postgres: new Group({
    enabled: flag,
    secretName: name,
    port: { type: 'integer', minimum: 1, maximum: 65_535 },
    to: listOf(kubernetes('NetworkPolicyPeer')),
  }),
  persistence: new Group({
    existingClaim: name,
    storageClassName: name,
    accessModes: { ...listOf(oneOf('ReadWriteOncePod', 'ReadWriteOnce')), minItems: 1, maxItems: 1 },
    size: matching('^[0-9.]+(Ki|Mi|Gi|Ti|k|M|G|T)?$'),
    keep: flag,
    labels: strings,
    annotations: strings,
  }),
  // More than one only with PostgreSQL: see CONDITIONS.
  replicas: { anyOf: [{ const: '' }, { type: 'integer', minimum: 0 }] },
  podDisruptionBudget: new Group({ enabled: flag, maxUnavailable: oneOf(0, 1) }),
  serviceAccount: new Group({ create: flag, name, annotations: strings }),
  podLabels: strings,
  podAnnotations: strings,
  env: listOf(kubernetes('EnvVar')),
  envFrom: listOf(kubernetes('EnvFromSource')),
  extraArgs: listOf(text),
  initContainers: listOf(kubernetes('v1/Container')),
  extraContainers: listOf(kubernetes('v1/Container')),
  extraVolumes: listOf(kubernetes('Volume')),
  extraVolumeMounts: listOf(kubernetes('VolumeMount')),
  resources: kubernetes('ResourceRequirements'),
  podSecurityContext: kubernetes('PodSecurityContext'),
  securityContext: kubernetes('v1/SecurityContext'),
  probes: new Group({ startup: probe, liveness: probe, readiness: probe }),
  terminationGracePeriodSeconds: seconds,
  priorityClassName: name,
  nodeSelector: strings,
  tolerations: listOf(kubernetes('Toleration')),
  affinity: kubernetes('Affinity'),
  topologySpreadConstraints: listOf(kubernetes('TopologySpreadConstraint')),
  hostAliases: listOf(kubernetes('HostAlias')),
  dnsPolicy: oneOf('', 'ClusterFirst', 'Default', 'None'),
  dnsConfig: kubernetes('PodDNSConfig'),
  networkPolicy: new Group({
    enabled: flag,
    metricsFrom: listOf(kubernetes('NetworkPolicyPeer')),
    hooksFrom: listOf(kubernetes('NetworkPolicyPeer')),
    egress: listOf(kubernetes('NetworkPolicyEgressRule')),
    extraEgress: listOf(kubernetes('NetworkPolicyEgressRule')),
  }),
  monitor: new Group({
    enabled: flag,
    kind: oneOf('ServiceMonitor', 'PodMonitor'),
    interval: duration,
    scrapeTimeout: duration,
    relabelings: listOf(kubernetes('RelabelConfig')),
    metricRelabelings: listOf(kubernetes('RelabelConfig')),
    labels: strings,
  }),
  prometheusRule: new Group({ enabled: flag, runbookUrl: url, grafanaUrl: url, labels: strings }),
  dashboards: new Group({
    enabled: flag,
    provisioner: oneOf('sidecar', 'grafana-operator'),
    sidecar: new Group({ label: { type: 'string', minLength: 1 }, labelValue: text }),
    grafanaOperator: new Group({
      instanceSelector: kubernetes('LabelSelector'),
      allowCrossNamespaceImport: flag,
      folder: text,
      resyncPeriod: matching('^(([0-9]+(ms|s|m|h))+)?$'),
    }),
    labels: strings,
    annotations: strings,
  }),
  extraObjects: listOf({
    type: 'object',
    properties: { apiVersion: text, kind: text },
    required: ['apiVersion', 'kind', 'metadata'],
    additionalProperties: true,
  }),
});

/** Values of the user as a whole: null removes them, and stands for the default of any other value. */
export const REMOVABLE: readonly string[] = [
  'config',
  'policies',
  'resources',
  'podSecurityContext',
  'securityContext',
];

/** Values that depend on each other. */
export const CONDITIONS: Schema = {
  if: {
    properties: { postgres: { properties: { enabled: { const: true } }, required: ['enabled'] } },
    required: ['postgres'],
  },
  else: { properties: { replicas: { enum: ['', 0, 1, null] } } },
};
