import type { LoadedTest } from '#config/policy-tests.ts';
import type { FailedStep, TestedPolicy } from '#automate/policytest/scenario.ts';
import { EXIT, type CliIo, type Command } from '../command.ts';
import { OUTPUT_OPTION, outputFormat, painter, printable, usesColor, writeData, type Style } from '../output.ts';

/** Result of one test. */
interface TestResult {
  readonly name: string;
  readonly line: number;
  readonly ok: boolean;
  /** Failed step. */
  readonly failed?: FailedStep & { readonly line: number };
}

interface FileResult {
  readonly file: string;
  readonly ok: boolean;
  readonly tests: readonly TestResult[];
  /** Errors in the file itself. */
  readonly problems?: readonly unknown[];
}

export const testCommand: Command = {
  name: 'test',
  summary: 'Run unit tests of policies.',
  operands: { usage: 'FILE…', min: 1, max: Infinity },
  options: { output: OUTPUT_OPTION },
  details:
    'Needs no daemon and no service: entries, facts and the time come from the file; the engine is the real one.\n' +
    'Exit code: 0 if all tests pass, 1 if one fails or a file is invalid. docs/policy-tests.md describes the format.',
  examples: ['opsd test policies/resume_test.yaml', 'opsd test policies/*_test.yaml -o json'],
  async run({ io, values, positionals }) {
    const format = outputFormat(values);
    const results: FileResult[] = [];
    for (const file of positionals) {
      io.signal.throwIfAborted();
      const result = await runFile(file, io);
      if (format === 'table') io.stdout.write(fileText(result, painter(usesColor(io.stdout, io.env))));
      results.push(result);
    }
    const ok = results.every((result) => result.ok);
    if (format !== 'table') await writeData(io, format, { ok, files: results });
    return ok ? EXIT.ok : EXIT.failed;
  },
};

async function runFile(file: string, io: CliIo): Promise<FileResult> {
  const { loadPolicyTests } = await import('#config/policy-tests.ts');
  const loaded = loadPolicyTests(file, { env: io.env });
  if (!loaded.ok) {
    const { formatProblems } = await import('#config/problem.ts');
    io.stderr.write(`${formatProblems(loaded.problems, { color: usesColor(io.stderr, io.env) })}\n`);
    return { file, ok: false, tests: [], problems: loaded.problems };
  }
  const tests = await Array.fromAsync(loaded.tests, (one) => {
    io.signal.throwIfAborted();
    return runOne(one, loaded.policies);
  });
  return { file, ok: tests.every((test) => test.ok), tests };
}

async function runOne({ test, line, stepLines }: LoadedTest, policies: readonly TestedPolicy[]): Promise<TestResult> {
  const { runPolicyTest } = await import('#automate/policytest/scenario.ts');
  const { memoryLedger } = await import('#storage/memory-ledger.ts');
  const failed = await runPolicyTest(test, policies, () => memoryLedger('test'));
  const { name } = test;
  if (failed === undefined) return { name, line, ok: true };
  return { name, line, ok: false, failed: { ...failed, line: stepLines[failed.step] ?? line } };
}

type Paint = (style: Style, text: string) => string;

function fileText({ file, ok, tests, problems }: FileResult, paint: Paint): string {
  const title = `Policy tests:  ${printable(file)}\n`;
  if (problems !== undefined) return `${title}  ${paint('red', 'FAILED')}  the file is invalid\n\n`;
  const count = `${tests.length} ${tests.length === 1 ? 'test' : 'tests'}`;
  if (ok) return `${title}  ${paint('green', 'SUCCESS')}  ${count}\n\n`;
  const failed = tests.filter((test) => !test.ok);
  return (
    `${title}  ${paint('red', 'FAILED')}  ${failed.length} of ${count}\n` +
    `${failed.map((test) => testText(file, test, paint)).join('')}\n`
  );
}

function testText(file: string, { name, failed }: TestResult, paint: Paint): string {
  const { step, line, problem, differences } = failed!;
  const where = step === -1 ? 'given' : `step ${step + 1}`;
  const lines = [`    ${paint('bold', printable(name))}: ${where} (${printable(file)}:${line})`];
  if (problem !== undefined) lines.push(`      ${printable(problem)}`);
  for (const { path, expected, found } of differences) {
    lines.push(`      ${path}:`);
    // Common lines stay between the others, so that only the differences have a color.
    const [wanted, got] = [asLines(expected), asLines(found)];
    const common = new Set(wanted).intersection(new Set(got));
    for (const text of wanted) lines.push(common.has(text) ? `          ${text}` : paint('red', `        - ${text}`));
    for (const text of got) if (!common.has(text)) lines.push(paint('green', `        + ${text}`));
  }
  return lines.map((text) => `${text}\n`).join('');
}

/** Value as text, with one line for each item of a list. */
function asLines(value: unknown): string[] {
  if (value === undefined) return ['(none)'];
  if (!Array.isArray(value)) return [inline(value)];
  return value.length === 0 ? ['[]'] : value.map(inline);
}

function inline(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    return `{ ${Object.entries(value)
      .map(([key, inner]) => `${key}: ${inline(inner)}`)
      .join(', ')} }`;
  }
  return printable(typeof value === 'string' ? value : JSON.stringify(value));
}
