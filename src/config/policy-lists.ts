/** Policies of several files: the file that names them, then the files of its `policyFiles`. */
import { isAbsolute, join } from 'node:path';
import { checkPolicies, type PolicyFault, type PolicyList } from './check-policies.ts';
import { checkSchema } from './check-schema.ts';
import type { LoadedPolicy } from './config.ts';
import { findPolicyFiles } from './policy-files.ts';
import type { ConfigProblem } from './problem.ts';
import { readSource } from './read-file.ts';
import { policyFileSettings } from './settings.ts';
import type { Fault } from './source-text.ts';
import { problemsOf, readYaml, unreadProblem, type YamlFile } from './yaml-file.ts';
import { placeAt } from './yaml-place.ts';

export class PolicyLists {
  readonly policies: LoadedPolicy[] = [];
  readonly lists: PolicyList[] = [];
  /** Absolute paths of the files that `policyFiles` names. */
  readonly paths: readonly string[];
  /** Contents of these files, in order; undefined for an unreadable one. */
  readonly texts: readonly (string | undefined)[];
  /** Faults of `policyFiles` itself. */
  readonly faults: readonly Fault[];
  readonly #files: { readonly yaml: YamlFile; readonly faults: readonly Fault[] }[] = [];
  readonly #unread: ConfigProblem[] = [];

  /**
   * @param settings policies of the file itself
   * @param of.env values for `${env:NAME}`
   * @param of.folder displayed path of the folder of the file
   * @param of.absolute makes a path of the file absolute
   * @param of.sourceOf displayed place of a policy, from its file as written and as displayed, and its line
   */
  constructor(
    main: YamlFile,
    settings: readonly LoadedPolicy['settings'][] | undefined,
    of: {
      readonly env: Readonly<Record<string, string | undefined>>;
      readonly folder: string;
      readonly absolute: (path: string) => string;
      readonly sourceOf: (source: YamlFile['source'], written: string | undefined) => string;
    },
  ) {
    const found = findPolicyFiles(placeAt(main.root, ['policyFiles']), of.absolute);
    this.faults = found.faults;
    this.paths = found.files.map(({ path }) => path);
    this.#add(main, settings, of.sourceOf(main.source, undefined));
    this.texts = found.files.map(({ path, written }) => {
      const read = readSource(path, isAbsolute(written) ? written : join(of.folder, written));
      if (!read.ok) {
        this.#unread.push(unreadProblem(read));
        return undefined;
      }
      const yaml = readYaml({ source: read.source, env: of.env });
      const result = yaml.root && checkSchema(policyFileSettings, yaml.root);
      this.#files.push({ yaml, faults: result?.faults ?? [] });
      this.#add(yaml, result?.value?.policies, of.sourceOf(yaml.source, written));
      return read.source.text;
    });
  }

  /** False if a file could not be read, so that not all policies are known. */
  get isWhole(): boolean {
    return this.#unread.length === 0;
  }

  /**
   * Problems of all files. Those of the file itself come first.
   *
   * @param accounts the configuration itself, if policies are checked against its accounts
   */
  problems(main: YamlFile, faults: readonly Fault[], accounts: YamlFile['root']): ConfigProblem[] {
    const crossed = checkPolicies(this.lists, accounts);
    const own = ({ source }: YamlFile): Fault[] =>
      crossed.filter((one: PolicyFault) => one.source === source).map(({ fault }) => fault);
    return [
      ...this.#unread,
      ...[{ yaml: main, faults }, ...this.#files].flatMap((file) =>
        problemsOf(file.yaml, [...file.faults, ...own(file.yaml)]),
      ),
    ];
  }

  #add(yaml: YamlFile, settings: readonly LoadedPolicy['settings'][] | undefined, shown: string): void {
    const list = placeAt(yaml.root, ['policies']);
    this.lists.push({ source: yaml.source, list });
    for (const [index, policy] of (settings ?? []).entries()) {
      const { line } = yaml.source.position(list?.items?.[index]?.start ?? 0);
      this.policies.push({ settings: policy, source: `${shown}:${line}` });
    }
  }
}
