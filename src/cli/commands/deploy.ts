import { counted } from '#foundation/domain/counted.ts';
import { deployedPart, MOST_PARTS } from '#foundation/domain/deploy.ts';
import { formatTime } from '#foundation/domain/time-text.ts';
import type { ReportedDeploys } from '#operate/contract/deploys.ts';
import { textOption, UsageError, valueOption } from '../command.ts';
import { daemonCommand } from '../daemon-command.ts';
import { request } from '../daemon-request.ts';
import { ACCOUNT_OPTION } from '../list-options.ts';
import { printable } from '../output.ts';

export const deployCommand = daemonCommand({
  name: 'deploy',
  summary: 'Report a deploy: policies that wait for it repair what failed before.',
  operands: { usage: 'VERSION', min: 1, max: MOST_PARTS },
  options: {
    of: valueOption('PREFIX…', 'Host or URL prefix of what was deployed; required, may be repeated.', {
      multiple: true,
    }),
    account: { ...ACCOUNT_OPTION, help: 'Only this account; default: all accounts.' },
    url: valueOption('LINK', 'Page about the deploy. The address of the daemon is $OPSD_URL.'),
    failed: { type: 'boolean', help: 'The deploy failed, or was rolled back: it halts the repairs.' },
  },
  details:
    'A policy with on.deploy acts on entries that failed before the deploy and whose workflow has a PREFIX, with one ' +
    'canary first. A version that was deployed before another one is a roll-back.',
  examples: [
    'opsd deploy v42 --of https://app.example.com/api/workflows/',
    'kubectl rollout status deploy/app && opsd deploy v42 --of app.example.com',
  ],
  async answer({ values, positionals }, findDaemon) {
    const [version = '', ...more] = positionals;
    const of = [...((values['of'] as readonly string[] | undefined) ?? []), ...more];
    if (values['of'] === undefined) throw new UsageError('what was deployed? Give its host or URL prefix: --of PREFIX');
    const wrong = of.find((part) => deployedPart(part) === undefined);
    if (wrong !== undefined) throw new UsageError(`${printable(wrong)} is neither a host nor a URL prefix`);
    const body = {
      of,
      version,
      account: textOption(values, 'account'),
      url: textOption(values, 'url'),
      ...(values['failed'] === true && { failed: true }),
    };
    const data = await request(await findDaemon(), 'POST /api/v1/deploys', { body });
    return { data, text: data.deploys.map(lineOf).join('') };
  },
});

function lineOf({ account, version, at, isRollback, policies }: ReportedDeploys['deploys'][number]): string {
  const what = isRollback
    ? 'a roll-back: nothing is repaired because of it'
    : policies.length === 0
      ? 'no policy waits for it'
      : `${counted(policies.length, 'policy waits', 'policies wait')} for it: ${policies.join(', ')}`;
  return `${printable(account)}: ${printable(version)} of ${formatTime(at)}, ${what}\n`;
}
