import type { Plan } from '#foundation/domain/plan.ts';
import type { PlanRequest } from '#automate/ledger/commands.ts';
import { EXIT, textOption, UsageError, valueOption, type Call } from '../command.ts';
import { REASON_OPTION } from '../confirm.ts';
import { daemonCommand } from '../daemon-command.ts';
import { PLAN_FIELDS, request } from '../daemon-request.ts';
import { commandOf } from '../daemon-option.ts';
import { textStyle } from '../output.ts';

export const planCommand = daemonCommand({
  name: 'plan',
  summary: 'Show what policies would do now, without doing it.',
  operands: { usage: '[POLICY…]', min: 0, max: Infinity, names: 'policy' },
  options: {
    keep: { type: 'boolean', help: 'Store the plan for an hour, so that opsd apply or opsd approve can use it.' },
    once: { type: 'boolean', help: 'Overrule limits for this plan only; requires --set and --reason.' },
    set: valueOption('LIMIT=VALUE', 'Limit to overrule, such as limits.maxPerHour=6000; may be repeated.', {
      multiple: true,
    }),
    reason: { ...REASON_OPTION, help: 'Reason for overruling limits, recorded in the audit log.' },
  },
  details:
    'The running daemon makes the plan; without a policy, one for each policy. It changes nothing and stores nothing. ' +
    'With --keep, the plan gets an id for opsd apply, and is stored for an hour.\nExit code: 0 if there is nothing to do, ' +
    '2 if there are changes, 3 if a guard holds them, 4 if a guard aborted, 1 on an error; for several policies the ' +
    'highest.',
  examples: [
    'opsd plan resume-billing',
    'opsd plan resume-billing --keep',
    'opsd plan billing --keep --once --set limits.maxPerHour=600 --reason fixed',
  ],
  async answer(call, findDaemon) {
    const options = { keep: call.values['keep'] === true, ...overruleOf(call) };
    const daemon = await findDaemon();
    const names = new Set(call.positionals);
    if (names.size === 0) {
      const { policies } = await request(daemon, 'GET /api/v1/policies', {}, 'policies');
      for (const { name } of policies) names.add(name);
    }
    // Sequential: each plan reads the service, within the same request limits.
    const plans = await Array.fromAsync(names, (name) => {
      const body = { policy: name, ...options };
      return request(daemon, 'POST /api/v1/plan', { body }, ...PLAN_FIELDS);
    });
    return {
      data: { plans },
      ...(plans.length === 0
        ? { text: '', note: 'The daemon has no policies.\n' }
        : { text: () => plansText(plans, call) }),
      code: Math.max(EXIT.ok, ...plans.map((plan) => EXIT_OF_STATE[plan.state])),
    };
  },
});

async function plansText(plans: readonly Plan[], call: Call): Promise<string> {
  const { planText } = await import('./plan-text.ts');
  return plans.map((plan) => planText(plan, { ...textStyle(call.io), command: commandOf(call) })).join('\n');
}

const EXIT_OF_STATE: Readonly<Record<Plan['state'], number>> = {
  nothing_to_do: EXIT.ok,
  changes: EXIT.changes,
  held: EXIT.held,
  aborted: EXIT.aborted,
};

/** Limits to overrule. Three options state it, since it defeats guards: once, what, and why. */
function overruleOf({ values, positionals }: Call): Pick<PlanRequest, 'overrule'> {
  const isSet = values['set'] !== undefined;
  const reason = textOption(values, 'reason')?.trim() ?? '';
  if (values['once'] !== true) {
    if (isSet || reason !== '') throw new UsageError('--set and --reason overrule limits; they need --once');
    return {};
  }
  if (!isSet) throw new UsageError('--once requires --set LIMIT=VALUE');
  if (reason === '') throw new UsageError('--once requires --reason TEXT');
  if (positionals.length !== 1) throw new UsageError('--once requires exactly one policy');
  return { overrule: { settings: settingsOf(values), reason } };
}

/** Limits of --set, by name. */
export function settingsOf(values: Call['values']): Readonly<Record<string, string>> {
  const given = values['set'];
  const texts = Array.isArray(given) ? given : [];
  const settings = texts.map((text): readonly [string, string] => {
    const [name = '', ...value] = text.split('=');
    if (name === '' || value.join('=') === '') throw new UsageError(`--set must be LIMIT=VALUE, not '${text}'`);
    return [name, value.join('=')];
  });
  const names = settings.map(([name]) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new UsageError(`--set ${twice} is given twice`);
  return Object.fromEntries(settings);
}
