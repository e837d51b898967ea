/** Arguments of `npm run simulate`. */
import { parseArgs } from 'node:util';

export interface Arguments {
  readonly seed: number;
  readonly histories: number;
  readonly minutes: number;
  readonly jobs: number;
  readonly mutant: string | undefined;
  readonly worse: Readonly<Record<string, number>>;
  readonly isTraced: boolean;
  readonly hasRest: boolean;
  readonly isMinimized: boolean;
}

/** @throws {Error} if an argument is invalid */
export function readArguments(args: readonly string[], cores: number): Arguments {
  const { values } = parseArgs({
    args: [...args],
    allowNegative: true,
    options: {
      seed: { type: 'string', default: '1' },
      histories: { type: 'string', default: '20' },
      minutes: { type: 'string', default: '90' },
      jobs: { type: 'string', default: String(cores) },
      mutant: { type: 'string' },
      worse: { type: 'string', multiple: true, default: [] },
      trace: { type: 'boolean', default: false },
      minimize: { type: 'boolean', default: false },
      rest: { type: 'boolean', default: true },
    },
  });
  const whole = (name: 'seed' | 'histories' | 'minutes' | 'jobs', min: number): number => {
    const value = Number(values[name]);
    if (!Number.isSafeInteger(value) || value < min)
      throw new Error(`--${name} must be a whole number of at least ${min}`);
    return value;
  };
  return {
    seed: whole('seed', 0),
    histories: whole('histories', 1),
    minutes: whole('minutes', 1),
    jobs: whole('jobs', 1),
    mutant: values.mutant,
    worse: Object.fromEntries(values.worse.map(readFactor)),
    isTraced: values.trace,
    isMinimized: values.minimize,
    hasRest: values.rest,
  };
}

/** @throws {Error} if the text is not a kind of fault and its factor */
function readFactor(text: string): [string, number] {
  const [kind = '', factor] = text.split('=');
  if (kind === '' || !(Number(factor) > 0)) throw new Error(`--worse ${text} must be a fault and its factor: crash=5`);
  return [kind, Number(factor)];
}
