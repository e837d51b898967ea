/** Dependencies of the decisions. */
import type { Campaigns } from '../../ledger/campaigns.ts';
import type { History } from '../../ledger/history.ts';
import type { PolicyMemory } from '../../ledger/runs.ts';
import type { Signals } from '../../ledger/signals.ts';
import type { Identity, Trust } from '../../ledger/trust.ts';
import type { Raises, Usage } from '../../ledger/usage.ts';
import type { EngineDeps } from '../facts/engine-deps.ts';
import type { Rejections } from './rejections.ts';

/** Parts of the ledger that decisions read. */
type DecideLedger = Identity & Trust & PolicyMemory & History & Usage & Raises & Campaigns & Signals;

export interface DecideDeps<L = DecideLedger> extends EngineDeps<L> {
  readonly rejections: Rejections;
}
