import { formatCount } from '#foundation/domain/counted.ts';
import { formatAge } from '#foundation/domain/time-text.ts';
import type { FlowControlKeyView, FlowControlView } from '#operate/contract/readings.ts';
import { runList } from '../list.ts';
import { ACCOUNT_OPTION, LIST_OPTIONS } from '../list-options.ts';
import { textOption, type Command } from '../command.ts';

export const flowControlListCommand: Command = {
  name: 'flow-control list',
  summary: 'List the watched flow-control keys, the most saturated first.',
  options: { account: { ...ACCOUNT_OPTION, help: 'Only this account.' }, ...LIST_OPTIONS },
  details:
    'Shows the last reading of each key, paused keys with waiting messages first. CONSTRAINT is what keeps its messages ' +
    'waiting: paused, parallelism, rate, or other. opsd flow-control show KEY reads one key from the service.',
  examples: ['opsd flow-control list --watch', "opsd flow-control list -o json | jq '.keys[0]'"],
  run: (call) =>
    runList<FlowControlKeyView, FlowControlView>(call, {
      path: '/api/v1/flow-control',
      query: { account: textOption(call.values, 'account') },
      key: 'keys',
      isPaged: false,
      collectors: ['flowControl'],
      columns: [
        { title: 'KEY', text: ({ flowControlKey }) => flowControlKey, isWhole: true },
        { title: 'WAITING', text: ({ waitListSize }) => formatCount(waitListSize), align: 'right' },
        { title: 'CONSTRAINT', text: ({ constraint, isPaused }) => constraint ?? (isPaused === true ? 'paused' : '–') },
        { title: 'PARALLELISM', text: (key) => used(key.parallelismCount, key.parallelismMax), align: 'right' },
        { title: 'RATE', text: rateText, align: 'right' },
        { title: 'USED', text: ({ saturation }) => percent(saturation), align: 'right' },
        { title: 'ACCOUNT', text: ({ account }) => account },
        { title: 'READ', text: ({ at }, now) => formatAge(at, now), isWide: true },
        { title: 'PINNED', text: pinnedText, isWide: true },
        { title: 'DISCOVERED', text: ({ isDiscovered }) => (isDiscovered === true ? 'yes' : 'no'), isWide: true },
      ],
      id: ({ flowControlKey }) => flowControlKey,
      empty:
        'No flow-control keys. Name them in collectors.flowControl.keys; the daemon also discovers keys of failed runs.',
      note: staleText,
    }),
};

function used(count: number | undefined, max: number | undefined): string {
  return max === undefined ? '–' : `${count === undefined ? '?' : formatCount(count)}/${formatCount(max)}`;
}

function rateText({ rateCount, rateMax, ratePeriod }: FlowControlKeyView): string {
  const period = ratePeriod === undefined ? '' : ` in ${ratePeriod}s`;
  return rateMax === undefined ? '–' : `${used(rateCount, rateMax)}${period}`;
}

function percent(share: number | undefined): string {
  return share === undefined ? '–' : `${Math.round(share * 100)}%`;
}

function pinnedText({ isPinnedParallelism, isPinnedRate }: FlowControlKeyView): string {
  const pinned = [isPinnedParallelism === true && 'parallelism', isPinnedRate === true && 'rate'].filter(Boolean);
  return pinned.length === 0 ? '–' : pinned.join(', ');
}

/** Warns of accounts whose keys are withheld. */
function staleText({ sources }: FlowControlView): string | undefined {
  const stale = sources.filter(({ state }) => state !== 'ok' && state !== 'off');
  if (stale.length === 0) return undefined;
  const states = stale.map(({ account, state }) => `${account} (${state})`).join(', ');
  return `Keys may be missing or old, because they could not be read: ${states}`;
}
