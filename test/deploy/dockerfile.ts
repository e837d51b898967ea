/** Parses a Dockerfile, and reports violations of common platform rules. */

export interface Instruction {
  readonly name: string;
  readonly text: string;
}

export function instructions(dockerfile: string): Instruction[] {
  return dockerfile
    .split('\n')
    .filter((line) => !line.trimStart().startsWith('#'))
    .join('\n')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, name, text] = /^(\w+)\s+(.*)$/.exec(line.trim()) ?? [];
      if (name === undefined) throw new Error(`no instruction: ${line}`);
      return { name: name.toUpperCase(), text: text! };
    });
}

const LABELS = ['title', 'description', 'licenses', 'version', 'revision', 'created', 'source'];
/** A whole version or a digest, without the name of a registry, which the builder chooses. */
const PINNED = /^[a-z0-9-]+:\d+\.\d+\.\d+[a-z0-9.-]*$|^[a-z0-9-]+@sha256:[0-9a-f]{64}$/;

/** @returns the problems, one sentence each */
export function dockerfileProblems(dockerfile: string): string[] {
  const all = instructions(dockerfile);
  const stages = all.filter(({ name }) => name === 'FROM');
  const lastFrom = all.findLastIndex(({ name }) => name === 'FROM');
  const final = all.slice(lastFrom);
  const of = (name: string): string[] => final.filter((found) => found.name === name).map(({ text }) => text);
  const problems: string[] = [];
  const check = (isFine: boolean, problem: string): void => void (isFine || problems.push(problem));

  const defaults = new Map(
    all.filter(({ name }) => name === 'ARG').map(({ text }) => text.split('=') as [string, string]),
  );
  const built = new Set(stages.flatMap(({ text }) => / AS (\S+)$/i.exec(text)?.[1] ?? []));
  for (const { text } of stages) {
    const base = text.split(' ')[0]!;
    const image = /^\$\{(\w+)\}$/.exec(base)?.[1];
    if (base === 'scratch' || built.has(base)) continue;
    check(image !== undefined, `FROM ${base}: the base is no argument`);
    check(PINNED.test(defaults.get(image ?? '') ?? base), `FROM ${base}: the base has no whole version`);
  }
  check(stages.at(-1)?.text === 'scratch', 'the last stage begins with somebody else’s files');
  check(
    all.every(({ name }) => name !== 'ADD'),
    'ADD: COPY says what it does',
  );
  check(of('RUN').length === 0 && of('SHELL').length === 0, 'the last stage needs a shell');
  check(/^[1-9]\d*:[1-9]\d*$/.test(of('USER').at(-1) ?? ''), 'USER is not numeric, or is root');
  for (const name of ['ENTRYPOINT', 'CMD'])
    check(of(name).length === 1 && isExec(of(name)[0]!), `${name} is not in the exec form`);
  const health = of('HEALTHCHECK').at(-1) ?? '';
  check(isExec(/ CMD (.*)$/.exec(health)?.[1] ?? ''), 'HEALTHCHECK is not in the exec form');
  for (const label of LABELS)
    check(of('LABEL').join(' ').includes(`org.opencontainers.image.${label}=`), `no label ${label}`);
  const named = all.filter(({ text }) => /amd64|arm64|x86_64|aarch64/.test(text));
  check(named.length === 0, 'it names an architecture');
  const secret = all.filter(
    ({ name, text }) => /^(?:ARG|ENV)$/.test(name) && /token|password|secret|npmrc/i.test(text),
  );
  check(secret.length === 0, 'a secret would stay in the history');
  return problems;
}

function isExec(text: string): boolean {
  try {
    const words: unknown = JSON.parse(text);
    return Array.isArray(words) && words.length > 0 && words.every((word) => typeof word === 'string');
  } catch {
    return false;
  }
}
