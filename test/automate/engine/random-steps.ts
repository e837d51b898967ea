/** Random sequences of steps for property tests: their arbitraries, and the steps that several tests have. */
import fc from 'fast-check';
import type { ResumeAnswer } from '../../support/fake-dlq.ts';
import { NEVER, type World } from './world.ts';

type Fields = Readonly<Record<string, fc.Arbitrary<unknown>>>;
/** Kinds of steps: each with its weight, and with the arbitraries of its fields, if it has any. */
type Kinds = Readonly<Record<string, number | readonly [weight: number, fields: Fields]>>;

type FieldsOf<Kind> = Kind extends readonly [number, infer F extends Fields]
  ? { readonly [Name in keyof F]: F[Name] extends fc.Arbitrary<infer Value> ? Value : never }
  : unknown;

type StepOf<K extends Kinds> = { [Name in keyof K]: { readonly do: Name } & FieldsOf<K[Name]> }[keyof K];

/** Arbitrary of steps `{ do: KIND, …fields }`. */
export function stepsOf<const K extends Kinds>(kinds: K): fc.Arbitrary<StepOf<K>> {
  const weighted = Object.entries(kinds).map(([kind, given]) => {
    const [weight, fields] = typeof given === 'number' ? [given, {}] : given;
    return { weight, arbitrary: fc.record({ do: fc.constant(kind), ...fields }) };
  });
  return fc.oneof(...weighted) as unknown as fc.Arbitrary<StepOf<K>>;
}

export const answersOf = (...answers: readonly ResumeAnswer[]) => fc.array(fc.constantFrom(...answers));

export type CommonStep =
  | { readonly do: 'settle' | 'observe' | 'restart' }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'return'; readonly index: number };

const COMMON: ReadonlySet<string> = new Set([
  'settle',
  'observe',
  'restart',
  'wait',
  'return',
] satisfies CommonStep['do'][]);

export function isCommon<S extends { readonly do: string }>(step: S): step is S & CommonStep {
  return COMMON.has(step.do);
}

/** Takes a step of a world. A renamed return has another run id. @param returned indexes of the resumes whose runs have failed again */
export async function takeStep(w: World, step: CommonStep, returned = new Set<number>()): Promise<void> {
  switch (step.do) {
    case 'settle':
      return w.engine.settle(NEVER);
    case 'observe':
      return w.observe();
    case 'restart':
      w.restart();
      return w.engine.recover(NEVER);
    case 'wait':
      return w.clock.advance(step.ms);
    case 'return': {
      if (w.dlq.sent[step.index]?.newRunId === undefined || returned.has(step.index)) return;
      returned.add(step.index);
      // A run that failed at once has a later failure than those listed before its resume.
      await w.clock.advance(1);
      w.dlq.failAgain(
        step.index,
        'renamed' in step && step.renamed === true ? { workflowRunId: `wfr-renamed-${step.index}` } : {},
      );
    }
  }
}

/** Ends the process during a request of `work`, which may or may not arrive. @param after number of requests before it */
export async function crash(
  w: World,
  work: () => Promise<unknown>,
  { after = 0, arrives }: { readonly after?: number; readonly arrives: boolean },
): Promise<void> {
  let left = after;
  const crashed = Promise.withResolvers<void>();
  w.dlq.answers = [];
  w.dlq.onResume = async (dlqId, overrides) => {
    if (left-- > 0) return;
    if (arrives) w.dlq.arrive(dlqId, overrides);
    crashed.resolve();
    await new Promise<never>(() => undefined);
  };
  await Promise.race([work(), crashed.promise]);
  w.dlq.onResume = () => undefined;
  await takeStep(w, { do: 'restart' });
}

/** Settles, and performs the runs that the engine requests, as the daemon does. */
export async function settleAndRun(w: World): Promise<void> {
  w.soon.length = 0;
  await w.engine.settle(NEVER);
  for (const policy of w.soon.splice(0)) await w.engine.run(policy, NEVER, { kind: 'campaign' });
}
