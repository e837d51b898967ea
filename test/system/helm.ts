/** Renders the chart as users do, with a real Helm. */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { Manifest } from '../support/kustomize.ts';
import { installed } from '../support/program.ts';

export const CHART = join(import.meta.dirname, '../../deploy/helm/opsd');
const VALUES = join(import.meta.dirname, '../deploy/helm-values');

export const helm = installed('helm');

/** Files of values, one for each kind of installation, without their ending. */
export const VALUE_FILES = readdirSync(VALUES).map((name) => name.replace(/\.yaml$/, ''));

export const valuesPath = (name: string): string => join(VALUES, `${name}.yaml`);

export interface TemplateOptions {
  readonly release?: string;
  /** Names of files of values, or paths. */
  readonly values?: readonly string[];
  /** Arguments of `--set-json`. */
  readonly set?: readonly string[];
}

/** @throws {Error} when Helm fails or warns */
export function template(options: TemplateOptions = {}): readonly Manifest[] {
  const { stdout, stderr, status } = runTemplate(options);
  if (status !== 0 || stderr !== '') throw new Error(`helm template: ${stderr}`);
  return parseAllDocuments(stdout)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null);
}

/** Returns the error of Helm. @throws {Error} when it succeeds */
export function templateError(options: TemplateOptions): string {
  const { stderr, status } = runTemplate(options);
  if (status === 0) throw new Error(`helm template accepts ${JSON.stringify(options)}`);
  return stderr;
}

function runTemplate({ release = 'opsd', values = [], set = [] }: TemplateOptions) {
  const given = values.flatMap((name) => ['--values', name.endsWith('.yaml') ? name : valuesPath(name)]);
  return runHelm(
    'template',
    release,
    CHART,
    '--namespace=opsd',
    ...given,
    ...set.flatMap((one) => ['--set-json', one]),
  );
}

export function runHelm(...args: readonly string[]) {
  // Settings of the user, such as a kubeconfig, must not matter. Collecting garbage is a third of its time.
  const env = { PATH: process.env['PATH'], HOME: '/nonexistent', HELM_NO_PLUGINS: '1', GOGC: 'off' };
  return spawnSync(helm!, args, { encoding: 'utf8', maxBuffer: 64 << 20, env });
}
