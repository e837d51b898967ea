/** Cases of `promtool test rules` beside the rules that each names: promtool evaluates every rule at every step. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parse, parseDocument, stringify, type YAMLSeq } from 'yaml';

interface Rule {
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

interface RuleFile {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
}

interface CaseFile {
  readonly tests: readonly {
    readonly alert_rule_test?: readonly { readonly alertname: string }[];
    readonly promql_expr_test?: readonly { readonly expr: string }[];
  }[];
}

interface ParsedRules {
  readonly path: string;
  readonly file: RuleFile;
}

/** Returns the rules without their texts, for cases that do not expect them. */
export function withoutTexts<F extends RuleFile>(file: F): F {
  const bare = (rule: Rule): Rule => ({ ...rule, annotations: {} });
  return { ...file, groups: file.groups.map((group) => ({ ...group, rules: group.rules.map(bare) })) };
}

export function readRules(path: string): ParsedRules {
  return { path, file: parse(readFileSync(path, 'utf8')) as RuleFile };
}

/** A file of cases. */
interface Cases {
  readonly name: string;
  readonly text: string;
}

/**
 * Copies each case into a folder of its own, with the rules that it names in the folder above. What is
 * recorded is evaluated before the alerts, in the order of the file: otherwise promtool takes any order at each step.
 *
 * @returns paths of the copies
 */
export function copyCases({ name, text }: Cases, files: readonly ParsedRules[], folder: string): readonly string[] {
  // All as texts: 0x60 is sixty samples of zero, and no number.
  const copy = parseDocument(text, { schema: 'failsafe' });
  const tests = copy.get('tests') as YAMLSeq;
  const nodes = tests.items;
  const groups = files.flatMap(({ file }) => file.groups);
  const all = groups.flatMap(({ rules }) => rules);
  return (copy.toJS() as CaseFile).tests.map((one, index) => {
    const own = join(folder, String(index));
    mkdirSync(join(own, 'tests'), { recursive: true });
    const { alert_rule_test: alerts = [], promql_expr_test: queries = [] } = one;
    const kept = rulesFor([...alerts.map(({ alertname }) => alertname), ...queries.map(({ expr }) => expr)], all);
    for (const { path, file } of files) {
      const some = file.groups.map((group) => ({ ...group, rules: group.rules.filter((rule) => kept.has(rule)) }));
      writeFileSync(join(own, basename(path)), stringify({ groups: some.filter(({ rules }) => rules.length > 0) }));
    }
    const used = groups.filter(({ rules }) => rules.some((rule) => kept.has(rule)));
    const order = [...used.filter(isRecording), ...used.filter((group) => !isRecording(group))];
    copy.set(
      'group_eval_order',
      order.map(({ name }) => name),
    );
    tests.items = [nodes[index]];
    const path = join(own, 'tests', name);
    writeFileSync(path, copy.toString({ lineWidth: 0 }));
    return path;
  });
}

/** Returns the rules that the texts name, the recording rules that these read, and so on. */
export function rulesFor<R extends Rule>(texts: readonly string[], rules: readonly R[]): ReadonlySet<R> {
  const names = new Set(texts.flatMap(wordsOf));
  const found = new Set<R>();
  for (let before = -1; before < found.size;) {
    before = found.size;
    for (const rule of rules.filter(({ alert, record }) => names.has(alert ?? record!))) {
      found.add(rule);
      for (const text of [rule.expr, ...Object.values(rule.annotations ?? {})]) {
        for (const word of wordsOf(text)) names.add(word);
      }
    }
  }
  return found;
}

const isRecording = ({ rules }: RuleFile['groups'][number]): boolean => rules[0]!.record !== undefined;

function wordsOf(text: string): readonly string[] {
  return text.match(/[a-zA-Z_:][\w:]*/g) ?? [];
}
