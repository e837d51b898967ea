/** Wrong command lines: each is rejected with its reason, before any request, and the help that explains it is named. */
import { expect, test } from 'vitest';
import { ALL_COMMANDS } from '#cli/help.ts';
import { opsd } from './terminal.ts';

const REASON = '--reason x';
const URL_TEXT = 'postgres://opsd:hunter2@db.example:5432/opsd';

test.each<readonly [line: string, reason: string | RegExp]>([
  ['chek', "unknown command 'chek'; did you mean check?"],
  ['xyzzy', /^opsd: unknown command 'xyzzy'$/m],
  ['help plna', "unknown command 'plna'; did you mean plan?"],
  ['--config x', 'the first argument must be a command, not --config'],
  ['acount stats', "unknown command 'acount'; did you mean account?"],
  ['account sats', "account has no verb 'sats'; did you mean account stats?"],
  ['account xyzzy', "no verb 'xyzzy'; its verbs: stats, update-budget, set-plan, rotate-token, move-to-team"],
  ['account --yes stats', 'account needs a verb before --yes'],
  ['account stats --perod 1h', 'account stats has no option --perod; did you mean --period?'],
  ['account set-plan', 'account set-plan needs PLAN'],
  ['help account sats', "account has no verb 'sats'; did you mean account stats?"],
  ['help run x', "help does not take 'x'"],
  ['run --conifg x', 'run has no option --conifg; did you mean --config?'],
  ['run -x', 'run has no option -x'],
  ['run --token=abc', /^opsd: run has no option --token$/m],
  ['run config.yaml', "run does not take 'config.yaml'"],
  ['run --config', "Option '-c, --config <value>' argument missing"],
  ['check a b', "check does not take 'b'"],
  ['check a --no-secrets=1', "Option '--no-secrets' does not take an argument"],
  ['check a --connect --no-secrets', '--connect needs the secrets that --no-secrets leaves out'],
  ['check a -o xml', "--output must be one of table, json, yaml, not 'xml'"],
  ['test', 'test needs FILE…'],
  ['completion csh', "the shell must be one of bash, zsh, fish, not 'csh'"],
  ['metrics --markdown -o json', '--markdown and --output exclude each other'],

  ['demo --seed -1', "Option '--seed' argument is ambiguous"],
  ['demo --seed 1.5', "--seed must be an integer from 0 to 4294967295, not '1.5'"],
  ['demo --listen x', "--listen must be an address such as 127.0.0.1:8080, not 'x'"],
  ['emulator --listen x:99999', "--listen must be an address such as 127.0.0.1:8080, not 'x:99999'"],
  ['emulator --header-prefix=a/b', "--header-prefix takes letters, digits and hyphens, not 'a/b'"],
  ['emulator --openapi --product a/b', "--product takes lower-case letters, digits and underscores, not 'a/b'"],
  ['emulator --management user', '--management must be USER:PASSWORD'],
  ['emulator --token=', '--token must not be empty'],
  ['emulator --next-signing-key=', '--next-signing-key must not be empty'],
  ['emulator --time=virtual', '--time virtual requires --control'],
  ['emulator --time=slow', '--time must be real, skip or virtual'],
  ['emulator --seed=s.yaml --data=d', '--seed and --data exclude each other'],
  ['emulator --plan=huge', '--plan must be one of free, paid'],
  ['record', '--out FILE is required'],
  ['record --out x --max 0', '--max must be an integer from 1 to 20000'],
  ['init', '--message-url or --management-url is required: which API?'],
  ['init --message-url http://x', '--token-file is required, or MSGSVC_TOKEN in the environment'],
  ['init --management-url http://x', '--account-id is required'],
  ['init --username x', '--username requires --management-url'],
  ['init --token-file - --password-file -', '--token-file - and --password-file - both read stdin'],

  [`pause ${REASON} --url ftp://x`, 'must begin with http:// or https://'],
  [`pause ${REASON} --url http://user:pass@x`, 'must not have credentials'],
  [`pause ${REASON} --url http://x --socket s`, 'name two daemons'],
  [`pause ${REASON} --socket s --token-file f`, '--token-file requires --url'],
  [`pause ${REASON} --socket s --ca-file f`, '--ca-file requires --url'],
  [`pause ${REASON} --url http://x --token-file a --user-file b`, 'name two callers'],
  [`pause ${REASON} --url http://x --ca-file f`, '--ca-file requires an address with https://'],
  [`pause ${REASON} --url https://x --cert-file /dev/null`, 'needs both --cert-file and --key-file'],
  ['pause', '--reason is required: why are you pausing?'],
  ['unpause', '--reason is required'],
  [`unpause ${REASON} --group g`, '--group requires --policy'],
  ['cancel 9f3c2a --yes', '--reason is required'],
  ['incidents acknowledge 3f2a', '--note is required'],
  ['incidents snooze 3f2a', 'until when? Give --until TIME or --until-deploy'],
  ['incidents snooze 3f2a --until 2h --until-deploy', 'until when?'],
  ['plan p --set limits.maxPerHour=1', 'they need --once'],
  [`plan p ${REASON}`, 'they need --once'],
  [`plan p --once ${REASON}`, '--once requires --set LIMIT=VALUE'],
  ['plan p --once --set limits.maxPerHour=1', '--once requires --reason TEXT'],
  [`plan --once --set limits.maxPerHour=1 ${REASON}`, '--once requires exactly one policy'],
  [`plan p --once --set limits.maxPerHour ${REASON}`, '--set must be LIMIT=VALUE'],
  [`plan p --once --set a=1 --set a=2 ${REASON}`, '--set a is given twice'],
  [`dlq resume --since 2h ${REASON}`, 'no id and no filter'],
  [`dlq resume --account production ${REASON}`, 'no id and no filter'],
  ['dlq resume --label a', '--reason is required'],
  [`dlq resume --label a,b ${REASON}`, 'a value of label contains a comma'],
  [`dlq resume --label a --since 1h --from-date 2h ${REASON}`, '--since and --from-date are the same'],
  [`dlq resume --label a --set x ${REASON}`, '--set must be LIMIT=VALUE'],
  [
    `dlq delete --label a ${REASON}`,
    '--label is a filter of both DLQs; add --queue workflow for failed runs, or --queue message for messages',
  ],
  [
    `dlq delete --label a --flow-control-key b ${REASON}`,
    'both DLQs; add --queue workflow for failed runs; for messages with it, use opsd dlq prune --flow-control-key',
  ],
  [`dlq delete --caller-ip 10.0.0.1 ${REASON}`, '--caller-ip is a filter of both DLQs'],
  [
    `dlq delete --queue message --caller-ip 10.0.0.1 ${REASON}`,
    'dlq delete cannot select messages by --caller-ip; for messages with it, use opsd dlq prune --caller-ip',
  ],
  [`dlq delete --destination https://a --flow-control-key b ${REASON}`, 'cannot select messages by --flow-control-key'],
  [`dlq delete --label a --destination https://a --workflow-url https://b ${REASON}`, 'use only one of them'],
  [`dlq delete --queue x d-1 ${REASON}`, '--queue must be workflow or message'],
  [`dlq delete --response-status x ${REASON}`, '--response-status must be a status'],
  [`dlq delete --since 2h ${REASON}`, 'dlq delete needs an id or a filter'],
  [`dlq delete --queue workflow ${REASON}`, 'no id and no filter'],
  [`dlq prune --label a ${REASON}`, 'toDate'],
  [`dlq prune --to-date 14d ${REASON}`, 'filter'],
  [`dlq prune --label a --to-date 30m ${REASON}`, 'toDate'],
  ['indexes create products --region eu-west-1 --yes', 'type'],
  ['url-groups add-endpoints mailers =x', 'an endpoint must be URL or NAME=URL'],
  ['audit --file f --since yesterday', "a duration before now such as 2h, not 'yesterday'"],
  ['audit --file f --since 1763800000', '--since must be epoch milliseconds (13 digits), ISO 8601, or'],
  ['audit --file f --since 2026-02-30', "not '2026-02-30'"],
  ['audit verify --file f --head 12', '--head must be the number of a record and its hash'],
  ['audit --file f -o xml', '--output must be one of table, json, yaml'],
  ['audit verfy', "the operand of audit must be verify or absent, not 'verfy'"],
  ['state', 'state needs backup FILE | restore FILE | adopt | reset-counter METRIC'],
  ['state bakcup x', "backup FILE, restore FILE, adopt or reset-counter METRIC, not 'bakcup'"],
  ['state backup', 'state backup needs FILE'],
  ['state adopt', '--reason is required: why may this store act?'],
  ['state adopt x --reason y', "state adopt does not take 'x'"],
  ['state reset-counter a_total --reason y', 'state reset-counter needs METRIC and --account NAME'],
  ['state reset-counter a_total --account prod', '--reason is required: why is the counter wrong?'],
  ['state reset-counter a_total --account a --label b --reason c', '--label must be NAME=VALUE'],
  ['state restore x --socket s', 'state restore works on the file, not on a daemon; remove --socket'],
  ['state copy --to postgres:url', '--from must be sqlite:PATH or postgres:FILE'],
  ['state copy --from sqlite:opsd.db', '--to must be sqlite:PATH or postgres:FILE'],
  ['state copy --from opsd.db --to postgres:url', '--from must be sqlite:PATH or postgres:FILE'],
  ['state copy --from sqlite: --to postgres:url', '--from must be sqlite:PATH or postgres:FILE'],
  ['state copy --from sqlite:opsd.db --to sqlite:other.db', 'one of --from and --to must be sqlite:PATH'],
  [`state copy --from sqlite:opsd.db --to ${URL_TEXT}`, '--to must not have a URL'],
  [`state copy --from sqlite:opsd.db --to postgres:${URL_TEXT}`, '--to must not have a URL'],
  [`state copy --from ${URL_TEXT.replace('postgres', 'postgresql')} --to sqlite:opsd.db`, '--from must not have a URL'],
  ['state copy --undo --from sqlite:opsd.db --to postgres:url', '--undo takes only --from'],
  ['trace x y', 'the first operand of trace must be id or show'],
  ['trace show', 'trace needs id|show ID'],
  ['trace show m --workflow', '--workflow requires trace id'],
])('opsd %s', async (line, reason) => {
  const words = line.split(' ');
  const { code, stdout, stderr } = await opsd(words);
  expect([code, stdout]).toEqual([64, '']);
  expect(stderr).toMatch(reason);
  expect(stderr).toMatch(new RegExp(`^See: opsd help${topicOf(words)}$`, 'm'));
  expect(stderr).not.toContain('hunter2');
});

/** Words of the line that name a command or a noun, each behind a space. */
function topicOf([noun = '', verb = '']: readonly string[]): string {
  const names = ALL_COMMANDS.map(({ name }) => name);
  if (names.includes(`${noun} ${verb}`)) return ` ${noun} ${verb}`;
  return names.some((name) => name.split(' ')[0] === noun) ? ` ${noun}` : '';
}
