/**
 * Bodies of dead letters, from their failure callbacks: no operation of the service returns them. A content is a line of
 * JSON with the rest of the message, then the body. Times are epoch milliseconds.
 */
import { editOf, type BodyEdit, type CarriedMessage } from '#foundation/domain/carried-message.ts';
import type { BodyLack } from '#foundation/domain/dead-letter.ts';
import { formatDuration } from '#foundation/domain/duration.ts';
import { formatSize } from '#foundation/domain/size.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { contentHash } from '#foundation/platform/content-hash.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { openBytes, sealBytes, sealKeysOf, type SealKey } from '#foundation/platform/seal.ts';
import type { Secret } from '#foundation/platform/secret.ts';

/** Limits of the bodies of an account. */
interface BodyLimits {
  /** Milliseconds; 0 ends all of them. */
  readonly keep: number;
  /** Bytes of all contents. */
  readonly maxTotal: number;
}

export interface BodySettings extends BodyLimits {
  readonly maxBytes: number;
  /** Absent: contents are stored in clear. */
  readonly keys?: Secret | undefined;
}

/** Body for the store. */
export interface NewBody {
  /** Length of the body; of one that is not kept, its length if it is known, else 0. */
  readonly size: number;
  /** Absent if the body is kept. */
  readonly lack?: BodyLack;
  /** Reason why the key cannot be used. */
  readonly problem?: string;
  /** Key that sealed the content; absent if it is stored in clear. */
  readonly keyId?: string;
  /** Absent if the body is not kept. */
  readonly content?: Uint8Array;
  readonly limits: BodyLimits;
}

/** Facts about a body in the store. */
export interface BodyFacts extends Pick<NewBody, 'size' | 'lack' | 'keyId'> {
  readonly expiresAt: number;
}

/** Reads of the ledger. */
export interface BodyReads {
  /** Facts by dlqId. A letter without a row has none. */
  bodyFacts(account: string, dlqIds: readonly string[]): Promise<ReadonlyMap<string, BodyFacts>>;
  bodyContent(account: string, dlqId: string): Promise<Uint8Array | undefined>;
}

export interface BodyStore extends BodyReads {
  /** Stores the edited content of a dead letter, in place of an earlier one. */
  noteEdit(account: string, dlqId: string, edited: NewBody, at: number): Promise<void>;
  /** Applies the limits of an account to the bodies that it has. @returns the number of dropped contents */
  retainBodies(account: string, limits: BodyLimits): Promise<number>;
  /** Deletes a batch of bodies that ended. @returns the number of contents by account; `more` if there are others */
  endBodies(now: number): Promise<{ readonly ended: ReadonlyMap<string, number>; readonly more: boolean }>;
  /** Returns the bytes of all contents, by account. */
  bodyBytes(): Promise<ReadonlyMap<string, number>>;
}

/** Reason: why no body can be used, and what to do. */
export interface NoBody {
  readonly reason: string;
}

/** Changes by an operator. Without `body`, it stays. */
export interface BodyChange {
  readonly body?: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Body that can be opened. */
interface Found {
  readonly size: number;
  readonly until: number;
  /** Absent if the content is in clear. */
  readonly key?: SealKey;
}

export type KeptBodies = ReturnType<typeof createKeptBodies>;
export type BodyStates = Awaited<ReturnType<KeptBodies['states']>>;

/** Keeps and reads bodies with the settings of each account. */
export function createKeptBodies(settings: ReadonlyMap<string, BodySettings>, clock: Pick<Clock, 'now'>) {
  /** Finds bodies that can be opened, without reading them. */
  async function find(account: string, dlqIds: readonly string[], ledger: BodyReads) {
    const known = settings.get(account);
    const facts = known && dlqIds.length > 0 ? await ledger.bodyFacts(account, dlqIds) : undefined;
    const off = { reason: `Bodies of ${account} are not kept: ${SWITCH_ON}.` };
    const found = (dlqId: string) => (known === undefined ? off : foundIn(known, facts?.get(dlqId)));
    return new Map(dlqIds.map((dlqId): [string, Found | NoBody] => [dlqId, found(dlqId)]));
  }

  function foundIn(known: BodySettings, facts: BodyFacts | undefined): Found | NoBody {
    if (facts === undefined || facts.expiresAt <= clock.now()) return goneOf(known);
    const { lack, keyId, size, expiresAt: until } = facts;
    if (lack !== undefined) return { reason: LACKS[lack](facts, known) };
    if (keyId === undefined) return { size, until };
    const key = keyOf(keyId, known.keys);
    return 'reason' in key ? key : { size, until, key };
  }

  return {
    /** Settings of the accounts that keep bodies. */
    settings,
    /** Makes a message ready for the store. @param found the message; or the reason why it cannot be kept */
    pack(account: string, dlqId: string, found: CarriedMessage | Pick<NewBody, 'size' | 'lack'>): NewBody {
      const limits = settings.get(account)!;
      if (!('body' in found)) return { ...found, limits };
      const { body, ...head } = found;
      const size = body.length;
      if (size > limits.maxBytes) return { size, lack: 'too_large', limits };
      const content = Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), body]);
      if (limits.keys === undefined) return { size, content, limits };
      try {
        // Never in clear: a file that cannot be read was meant to seal.
        const [key] = sealKeysOf(limits.keys.reveal());
        return { size, keyId: key!.id, content: sealBytes(content, key!.bytes, placeOf(account, dlqId)), limits };
      } catch (error) {
        return { size, lack: 'key', problem: errorMessage(error), limits };
      }
    },

    /** Returns which bodies are kept, without reading them. */
    async states(account: string, dlqIds: readonly string[], ledger: BodyReads) {
      const found = [...(await find(account, dlqIds, ledger))];
      return new Map(
        found.map(([dlqId, one]) => [dlqId, 'reason' in one ? one : { size: one.size, until: one.until }]),
      );
    },

    async read(account: string, dlqId: string, ledger: BodyReads): Promise<{ readonly kept: CarriedMessage } | NoBody> {
      const found = (await find(account, [dlqId], ledger)).get(dlqId)!;
      if ('reason' in found) return found;
      const content = await ledger.bodyContent(account, dlqId);
      // Dropped since.
      if (content === undefined) return goneOf(settings.get(account)!);
      try {
        const { key } = found;
        const plain = key === undefined ? Buffer.from(content) : openBytes(content, key.bytes, placeOf(account, dlqId));
        // JSON has no line feed within a text.
        const end = plain.indexOf('\n');
        return { kept: { ...JSON.parse(plain.toString('utf8', 0, end)), body: plain.subarray(end + 1) } };
      } catch {
        return {
          reason: 'The stored body was changed outside of the daemon: publish the message again at its source.',
        };
      }
    },

    /** Stores the changed content of a dead letter beside its own, sealed as that. A later change replaces it. */
    async change(
      account: string,
      dlqId: string,
      change: BodyChange,
      ledger: BodyReads & Pick<BodyStore, 'noteEdit'>,
    ): Promise<{ readonly edit: BodyEdit } | NoBody> {
      const read = await this.read(account, dlqId, ledger);
      if ('reason' in read) return read;
      const { body = read.kept.body, headers: changed = {} } = change;
      const edited = { ...read.kept, body, changed };
      const packed = this.pack(account, editOf(dlqId), edited);
      if (packed.lack === 'too_large') {
        const most = formatSize(settings.get(account)!.maxBytes);
        return { reason: `The edited body is larger than deadLetters.bodies.maxBytes (${most}).` };
      }
      if (packed.lack !== undefined) return { reason: `The edit cannot be sealed: ${packed.problem}.` };
      await ledger.noteEdit(account, editOf(dlqId), packed, clock.now());
      return { edit: { sha256: contentHash(edited), size: body.length, headers: Object.keys(changed) } };
    },
  };
}

/** Context of a seal: a content opens only in its own row. */
function placeOf(account: string, dlqId: string): string {
  return `${account}\0${dlqId}`;
}

function keyOf(keyId: string, keys: Secret | undefined): SealKey | NoBody {
  if (keys === undefined) return { reason: `The body is sealed with key ${keyId}: set keyFile again.` };
  try {
    const reason = `The body is sealed with key ${keyId}, which keyFile lacks: add the line of that key again.`;
    return sealKeysOf(keys.reveal()).find(({ id }) => id === keyId) ?? { reason };
  } catch (error) {
    return { reason: `The body is sealed, and keyFile cannot be used: ${errorMessage(error)}. Repair the file.` };
  }
}

const SWITCH_ON = 'set deadLetters.bodies of the account, for messages that fail from then on';
const AT_SOURCE = 'publish the message again at its source';

function goneOf({ keep }: BodySettings): NoBody {
  return {
    reason: `No body is kept: its callback came before deadLetters.bodies was set, or keep (${formatDuration(keep)}) has passed.`,
  };
}

/** Reasons why a body is not kept, and the next step. */
const LACKS: Readonly<Record<BodyLack, (facts: BodyFacts, limits: BodyLimits) => string>> = {
  too_large: ({ size }) =>
    `The body (${formatSize(size)}) was larger than deadLetters.bodies.maxBytes: raise it for later ones.`,
  redacted: () => `The publisher redacts the body or headers, so the callback lacks them: ${AT_SOURCE}.`,
  incomplete: () => `The callback lacked a valid body, headers, method, or URL: ${AT_SOURCE}.`,
  length: ({ size }) => `The callback had ${size} bytes of the body, which is not its Content-Length: ${AT_SOURCE}.`,
  key: () =>
    'deadLetters.bodies.keyFile could not be used when the callback arrived: repair it; opsd doctor checks it.',
  total: (_facts, { maxTotal }) =>
    `The body was dropped for newer ones: all together exceeded deadLetters.bodies.maxTotal (${formatSize(maxTotal)}).`,
};
