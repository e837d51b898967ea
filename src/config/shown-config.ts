/** Running configuration for display: with all defaults, and without secrets. */
import { stringify } from 'yaml';
import { MASK } from '#foundation/domain/redact.ts';
import type { Config } from './config.ts';
import { isSecretKey } from './secret-keys.ts';

/** Settings as plain data. Times are milliseconds. */
export type ShownSettings = Readonly<Record<string, unknown>>;

/** Parts of the configuration that are not settings. */
const DERIVED: readonly (keyof Config)[] = [
  'security',
  'localPath',
  'sourceFile',
  'files',
  'hash',
  'contents',
  'policyPart',
];

/** Paths of files of secrets. They are shown, except in maps with free keys. */
const FILE_KEY = /^(?:url|token|actionToken|password|signingKeys|key)File$/;

export function shownConfig(config: Config): ShownSettings {
  const settings = Object.entries(config).filter(([key]) => !(DERIVED as readonly string[]).includes(key));
  return shown(Object.fromEntries(settings), { isSecret: false, isFree: false }) as ShownSettings;
}

/** Returns the settings as lines of YAML. */
export function configLines(settings: ShownSettings): readonly string[] {
  return stringify(settings, { lineWidth: 0 }).trimEnd().split('\n');
}

interface Place {
  /** True within the value of a key that may name a secret. */
  readonly isSecret: boolean;
  /** True within a map whose keys are chosen by its author. */
  readonly isFree: boolean;
}

function shown(value: unknown, place: Place): unknown {
  if (Array.isArray(value)) return value.map((item) => shown(item, place));
  if (typeof value !== 'object' || value === null) return place.isSecret && typeof value === 'string' ? MASK : value;
  if ('toJSON' in value) return MASK;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const isPath = !place.isFree && FILE_KEY.test(key);
      // The tokens of the server are objects with a name and a role.
      const isSecret = !isPath && (place.isSecret || (isSecretKey(key) && key !== 'tokens'));
      return [key, shown(inner, { isSecret, isFree: place.isFree || /headers$/i.test(key) })];
    }),
  );
}
