/**
 * Labels whose values come from outside the configuration: the maximum number of values, the normalization, and the
 * collectors that see them. All other labels are bounded by the configuration or by the program.
 */
import { matchesGlob } from '#foundation/domain/glob.ts';
import type { CollectorName } from '#foundation/domain/observation.ts';
import { cleanLabel, destinationLabel, nameLabel, OTHER, settled, workflowTemplate } from './labels.ts';
import type { MetricsSettings } from './settings.ts';

type LabelSettings = MetricsSettings['labels'];

interface LabelKind {
  /** Maximum number of values, or the setting that defines it. */
  readonly max: number | keyof LabelSettings;
  readonly normalise: (raw: string) => string;
  /**
   * Collectors that see the values. A value that none of them has seen for a long time loses its place. Without
   * collectors, values keep their place.
   */
  readonly seenBy: readonly CollectorName[];
}

/** Values that are few by nature. The limit is a safeguard. */
const few = (max: number, normalise: (raw: string) => string = nameLabel): LabelKind => ({
  max,
  normalise,
  seenBy: [],
});

const LABELS: Readonly<Record<string, LabelKind>> = {
  destination: { max: 'destination', normalise: destinationLabel, seenBy: ['logs'] },
  workflow: { max: 'workflow', normalise: workflowTemplate, seenBy: ['workflowDlq'] },
  group: { max: 'workflow', normalise: workflowTemplate, seenBy: ['workflowDlq'] },
  flow_control_key: { max: 'flowControlKey', normalise: nameLabel, seenBy: ['flowControl', 'workflowDlq'] },
  url_group: { max: 'urlGroup', normalise: nameLabel, seenBy: ['urlGroups'] },
  value: { max: 'value', normalise: nameLabel, seenBy: ['logs'] },
  label: { max: 100, normalise: nameLabel, seenBy: ['workflowDlq'] },
  series: few(50),
  name: few(500),
  plan: few(50),
  index_region: few(50),
  // Empty if there was no response.
  code: few(100, (raw) => (/^(?:\d{3}|error|none|)$/.test(raw) ? raw : OTHER)),
  operation: few(100, cleanLabel),
  guard: few(100, cleanLabel),
  reason: few(50),
  outcome: few(50),
  action: few(50),
  state: few(50),
  level: few(20),
  credential: few(20),
};

/** Rule for one label. */
export interface LabelRule extends Omit<LabelKind, 'max'> {
  readonly label: string;
  readonly max: number;
  /** Values that get a place before all others, in every account. */
  readonly first: readonly string[];
  readonly isAllowed: (value: string) => boolean;
}

export function labelRules(settings: LabelSettings): ReadonlyMap<string, LabelRule> {
  const rules = Object.entries(LABELS).map(([label, { max, ...kind }]): LabelRule => {
    const normalise = settled(kind.normalise);
    if (typeof max === 'number') return { label, ...kind, normalise, max, first: [], isAllowed: () => true };
    const { allow, deny, first, max: most } = settings[max];
    const isAllowed = (value: string): boolean =>
      !deny.some((glob) => matchesGlob(glob, value)) &&
      (allow.length === 0 || first.includes(value) || allow.some((glob) => matchesGlob(glob, value)));
    return { label, ...kind, normalise, max: most, first, isAllowed };
  });
  return new Map(rules.map((rule) => [rule.label, rule]));
}
