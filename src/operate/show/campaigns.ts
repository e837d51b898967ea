/** Campaigns: a policy repairs a group in steps. Pure. */
import { formatCount } from '#foundation/domain/counted.ts';
import { policyLink } from './policy-link.ts';
import {
  type Cell,
  minor,
  moment,
  numberColumn,
  type Section,
  section,
  state,
  sub,
  table,
  type Tone,
  whole,
  wide,
} from '#foundation/markup/cell.ts';
import type { PolicyView } from '../contract/policies.ts';

type Campaign = PolicyView['campaigns'][number];
/** Fields that an incident has as well. */
type CampaignRow = Pick<
  Campaign,
  'policy' | 'group' | 'state' | 'step' | 'size' | 'verified' | 'judged' | 'until' | 'reason' | 'begunAt'
> & { readonly breaker?: Campaign['breaker'] | undefined };

const CAMPAIGN_TONE: Readonly<Record<Campaign['state'], Tone>> = {
  ready: 'busy',
  settling: 'busy',
  halted: 'trouble',
  audit: 'trouble',
  ended: 'off',
};

/** @returns undefined without campaigns */
export function campaigns(rows: readonly CampaignRow[], at: number): Section | undefined {
  if (rows.length === 0) return undefined;
  const rowTable = table<CampaignRow>({
    caption: 'A repair starts with one entry of each group, waits for its outcome, and grows.',
    rows,
    empty: '',
    columns: {
      Group: wide((row) => [row.group === '' ? 'all' : row.group, sub(policyLink(row.policy))]),
      State: (row) => state(CAMPAIGN_TONE[row.state], row.state),
      Step: numberColumn((row) => [String(row.step), sub(whole(`at most ${formatCount(row.size)}`))]),
      Verified: numberColumn(
        (row) => row.judged > 0 && whole(`${formatCount(row.verified)} of ${formatCount(row.judged)}`),
      ),
      Next: wide((row) => next(row, at)),
      Begun: minor((row) => moment(row.begunAt, at)),
    },
  });
  return section('campaigns', 'Campaigns', rowTable);
}

function next({ state: now, until: at, reason, breaker }: CampaignRow, asOf: number): Cell {
  if (now === 'audit') return ['an operator lifts it', sub(reason)];
  if (at === undefined) return undefined;
  if (now !== 'halted') return ['judged ', moment(at, asOf)];
  if (breaker === 'half-open' || at <= asOf) return ['one entry can be resumed now', sub(reason)];
  return ['the breaker is open; one entry can be resumed ', moment(at, asOf), sub(reason)];
}
