/** Commands of nouns that are operations of the service: URL Groups, account, indexes, workflows and messages. */
import { UsageError, type Command } from '../command.ts';
import { ANSWER_FIELDS, STATISTICS, URL_GROUP, URL_GROUPS } from './operation-views.ts';
import { operationCommand } from './operation-command.ts';

const CONFIRMED = 'Requires the role admin, and the typed name of the account.';

const OPERATION_COMMANDS: readonly Command[] = [
  operationCommand('get-flow-control', {
    name: 'flow-control show',
    summary: 'Read the live state of a flow-control key from the service.',
    operands: ['flowControlKey'],
    usage: 'KEY',
    names: 'flow-control-key',
    view: ANSWER_FIELDS,
    examples: ['opsd flow-control show billing', 'opsd flow-control show billing -o json --account production'],
  }),
  operationCommand('list-url-groups', {
    name: 'url-groups list',
    summary: 'List the URL Groups of an account.',
    view: URL_GROUPS,
    examples: ['opsd url-groups list', 'opsd url-groups list -o name --account production'],
  }),
  operationCommand('list-url-groups', {
    name: 'url-groups show',
    summary: 'Show the endpoints of a URL Group.',
    operands: ['urlGroupName'],
    usage: 'NAME',
    // The service has no request for one group.
    keysOf: () => ({}),
    view: URL_GROUP,
    examples: ['opsd url-groups show mailers', 'opsd url-groups show mailers -o name'],
  }),
  operationCommand('add-endpoints', {
    name: 'url-groups add-endpoints',
    summary: 'Add endpoints to a URL Group, or change the URL of a named one.',
    operands: ['urlGroupName', 'endpoints'],
    usage: 'NAME [ENDPOINT=]URL…',
    details: 'A missing group is created.',
    keysOf: ([urlGroupName, ...urls]) => ({ urlGroupName, endpoints: JSON.stringify(urls.map(endpointOf)) }),
    examples: [
      'opsd url-groups add-endpoints mailers https://example.com https://example.org',
      'opsd url-groups add-endpoints mailers backup=https://eu.example.com/mail --yes',
    ],
  }),
  operationCommand('get-account-stats', {
    name: 'account stats',
    summary: 'Read the statistics of an account.',
    view: STATISTICS,
    examples: ['opsd account stats', 'opsd account stats --period 7d -o json'],
  }),
  operationCommand('update-budget', {
    name: 'account update-budget',
    summary: 'Set the monthly budget of an account.',
    operands: ['budget'],
    usage: 'USD',
    details: `USD is 20 to 10000; 0 is unlimited. A lower budget, or one whose current value is unknown:\n${CONFIRMED}`,
    examples: ['opsd account update-budget 200', 'opsd account update-budget 50 --confirm production'],
  }),
  operationCommand('set-plan', {
    name: 'account set-plan',
    summary: 'Change the plan of an account, and its limits.',
    operands: ['plan_name'],
    usage: 'PLAN',
    details: `PLAN is paid, or the name of a fixed plan of the service, such as msgsvc_fixed_1m.\n${CONFIRMED}`,
    examples: ['opsd account set-plan paid', 'opsd account set-plan msgsvc_fixed_1m --confirm production'],
  }),
  operationCommand('rotate-token', {
    name: 'account rotate-token',
    summary: 'Replace the tokens of an account. The old ones end at once.',
    details:
      'The daemon writes the new token to its file before anything else, and never shows it. If the response is lost, ' +
      `it says so, and names the next step. ${CONFIRMED}`,
    examples: ['opsd account rotate-token', 'opsd account rotate-token --account production --confirm production'],
  }),
  operationCommand('move-to-team', {
    name: 'account move-to-team',
    summary: 'Move an account to a team.',
    operands: ['target_team_id'],
    usage: 'TEAM',
    details: `TEAM is the id of the team. ${CONFIRMED}`,
    examples: ['opsd account move-to-team team-7', 'opsd account move-to-team team-7 --confirm production'],
  }),
  operationCommand('create-index', {
    name: 'indexes create',
    summary: 'Create a search index.',
    operands: ['name'],
    details: 'Requires --region and --type. Tokens are shown as [secret].',
    examples: [
      'opsd indexes create products --region eu-west-1 --type payg',
      'opsd indexes create products --region us-central1 --type free --yes',
    ],
  }),
  operationCommand('get-index', {
    name: 'indexes show',
    summary: 'Read a search index. Tokens are shown as [secret].',
    operands: ['id'],
    view: ANSWER_FIELDS,
    examples: ['opsd indexes show idx-1', 'opsd indexes show idx-1 -o json'],
  }),
  operationCommand('rename-index', {
    name: 'indexes rename',
    summary: 'Rename a search index.',
    operands: ['id', 'name'],
    examples: ['opsd indexes rename idx-1 products', 'opsd indexes rename idx-1 products --yes'],
  }),
  operationCommand('transfer-index', {
    name: 'indexes transfer',
    summary: 'Transfer a search index to another account.',
    operands: ['id', 'target_account'],
    usage: 'ID TARGET',
    details: 'TARGET is the id of the other account. Requires the role admin, and the typed name of the index.',
    examples: ['opsd indexes transfer idx-1 team-7', 'opsd indexes transfer idx-1 team-7 --confirm products'],
  }),
  operationCommand('get-vector-stats', {
    name: 'indexes stats',
    summary: 'Read the statistics of a vector index.',
    operands: ['id'],
    view: STATISTICS,
    examples: ['opsd indexes stats idx-1', 'opsd indexes stats idx-1 --period 1d -o json'],
  }),
  operationCommand('trigger', {
    name: 'workflows trigger',
    summary: 'Trigger a run of a workflow.',
    operands: ['workflowUrl'],
    usage: 'URL',
    examples: [
      'opsd workflows trigger https://app.example.com/invoice --label billing',
      'opsd workflows trigger https://example.com/invoice --body payload.json --yes',
    ],
  }),
  operationCommand('publish', {
    name: 'messages publish',
    summary: 'Publish a message to a URL, or to all endpoints of a URL Group.',
    operands: ['destination'],
    examples: [
      'opsd messages publish https://example.com/hook --body - < message.json',
      'opsd messages publish mailers --delay 5m --label test --yes',
    ],
  }),
];

export function operationCommandNamed(name: string): Command {
  return OPERATION_COMMANDS.find((command) => command.name === name)!;
}

/** Endpoint of `URL` or `NAME=URL`. */
function endpointOf(text: string): { readonly url: string; readonly name?: string } {
  if (/^https?:\/\//i.test(text)) return { url: text };
  const at = text.indexOf('=');
  if (at < 1) throw new UsageError(`an endpoint must be URL or NAME=URL, not '${text}'`);
  return { name: text.slice(0, at), url: text.slice(at + 1) };
}
