/** Generated parts of the documentation, by the names of their markers. Each follows from the place that declares it. */
import { CONFIRM_OPTION, REASON_OPTION, YES_OPTION } from '#cli/confirm.ts';
import type { OptionSpec } from '#cli/command.ts';
import { HELP_GROUPS } from '#cli/help.ts';
import { ACCOUNT_OPTION, LIST_OPTIONS, SINCE_OPTION, UNTIL_OPTION } from '#cli/list-options.ts';
import { catalogMarkdown } from '#observe/catalog/text.ts';
import { alertLists, burnTable, recordedSeries } from '../prometheus/document.ts';

export const GENERATED: Readonly<Record<string, () => string | Promise<string>>> = {
  commands,
  'common-options': () => options(COMMON_OPTIONS),
  metrics: catalogMarkdown,
  alerts: alertLists,
  'burn-rates': burnTable,
  recorded: recordedSeries,
};

async function commands(): Promise<string> {
  const groups = Object.entries(HELP_GROUPS).map(async ([title, listed]) => {
    const lines = listed.map(async ({ load }) => {
      const { name, operands, summary } = await load();
      return `- \`opsd ${[name, operands?.usage].filter(Boolean).join(' ')}\`: ${summary}\n`;
    });
    return `**${title}**\n\n${(await Promise.all(lines)).join('')}`;
  });
  return (await Promise.all(groups)).join('\n');
}

/** Options that several commands have. */
const COMMON_OPTIONS = {
  ...LIST_OPTIONS,
  since: SINCE_OPTION,
  until: UNTIL_OPTION,
  account: ACCOUNT_OPTION,
  yes: YES_OPTION,
  confirm: CONFIRM_OPTION,
  reason: REASON_OPTION,
};

function options(specs: Readonly<Record<string, OptionSpec>>): string {
  return Object.entries(specs)
    .map(([name, { short, value, help }]) => {
      const synopsis = [`--${name}`, value].filter(Boolean).join(' ');
      return `- \`${synopsis}\`${short === undefined ? '' : `, \`-${short}\``}: ${help}\n`;
    })
    .join('');
}
