/**
 * Keeps and reads bodies of dead letters with the settings of each account. A content is a line of JSON with headers and
 * addresses, then the body.
 */
import type { BodyLack } from '#foundation/domain/dead-letter.ts';
import { formatDuration } from '#foundation/domain/duration.ts';
import { formatSize } from '#foundation/domain/size.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import type { Secret } from '#foundation/platform/secret.ts';
import { editOf } from '#foundation/domain/body-edit.ts';
import { contentHash } from '#foundation/platform/content-hash.ts';
import type { BodyFacts, BodyKeeper, BodyReads, KeptBodies, KeptBody, NoBody } from '#automate/ledger/kept-bodies.ts';
import { bodyKeysOf, openBody, sealBody, type BodyKey } from './body-seal.ts';

export interface BodySettings {
  /** Milliseconds. */
  readonly keep: number;
  readonly maxBytes: number;
  readonly maxTotal: number;
  /** Absent: contents are stored in clear. */
  readonly keys?: Secret;
}

export function createBodyKeeper({ keep, maxBytes, maxTotal, keys }: BodySettings): BodyKeeper {
  return {
    maxBytes,
    pack(found, at) {
      const common = { maxTotal, expiresAt: at + keep };
      if ('lack' in found) return { ...common, ...found };
      const size = found.body.length;
      const content = contentOf(found);
      if (keys === undefined) return { ...common, size, content };
      try {
        // Never in clear: a file that cannot be read was meant to seal.
        const key = bodyKeysOf(keys.reveal())[0]!;
        return { ...common, size, keyId: key.id, content: sealBody(content, key, found) };
      } catch (error) {
        return { ...common, size, lack: 'key', problem: errorMessage(error) };
      }
    },
  };
}

const LINE_FEED = 10;

function contentOf({ body, ...head }: KeptBody): Uint8Array {
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), body]);
}

function keptOf(content: Uint8Array): KeptBody {
  // JSON has no line feed within a text.
  const end = content.indexOf(LINE_FEED);
  const head = JSON.parse(Buffer.from(content.subarray(0, end)).toString('utf8')) as Omit<KeptBody, 'body'>;
  return { ...head, body: content.subarray(end + 1) };
}

/** Body that can be opened. */
interface Found {
  readonly size: number;
  readonly until: number;
  /** Absent if the content is in clear. */
  readonly key?: BodyKey;
}

export function createKeptBodies(settings: ReadonlyMap<string, BodySettings>, clock: Pick<Clock, 'now'>): KeptBodies {
  /** Finds bodies that can be opened, without reading them. */
  async function findAll(
    account: string,
    dlqIds: readonly string[],
    ledger: BodyReads,
  ): Promise<ReadonlyMap<string, Found | NoBody>> {
    const known = settings.get(account);
    if (known === undefined) {
      const off = { reason: `Bodies of ${account} are not kept: ${SWITCH_ON}.` };
      return new Map(dlqIds.map((dlqId) => [dlqId, off]));
    }
    const facts = await ledger.bodyFacts(account, dlqIds);
    return new Map(dlqIds.map((dlqId) => [dlqId, found(known, facts.get(dlqId))]));
  }

  function found(known: BodySettings, facts: BodyFacts | undefined): Found | NoBody {
    if (facts === undefined || facts.expiresAt <= clock.now()) return goneOf(known);
    const { lack, keyId, size, expiresAt: until } = facts;
    if (lack !== undefined) return { reason: LACKS[lack](facts, known) };
    if (keyId === undefined) return { size, until };
    if (known.keys === undefined) return { reason: `The body is sealed with key ${keyId}: set keyFile again.` };
    try {
      const key = bodyKeysOf(known.keys.reveal()).find(({ id }) => id === keyId);
      if (key !== undefined) return { size, until, key };
      return { reason: `The body is sealed with key ${keyId}, which keyFile lacks: add the line of that key again.` };
    } catch (error) {
      return { reason: `The body is sealed, and keyFile cannot be used: ${errorMessage(error)}. Repair the file.` };
    }
  }

  return {
    async states(account, dlqIds, ledger) {
      const all = await findAll(account, dlqIds, ledger);
      return new Map(
        [...all].map(([dlqId, one]) => [dlqId, 'reason' in one ? one : { size: one.size, until: one.until }]),
      );
    },
    async change(account, dlqId, { body, headers }, ledger) {
      const read = await this.read(account, dlqId, ledger);
      if ('reason' in read) return read;
      const { kept } = read;
      const changed = { ...kept, dlqId: editOf(dlqId), body: body ?? kept.body, changed: headers ?? {} };
      const known = settings.get(account)!;
      if (changed.body.length > known.maxBytes) {
        return {
          reason: `The edited body is larger than deadLetters.bodies.maxBytes (${formatSize(known.maxBytes)}).`,
        };
      }
      const at = clock.now();
      const packed = createBodyKeeper(known).pack(changed, at);
      if (packed.problem !== undefined) return { reason: `The edit cannot be sealed: ${packed.problem}.` };
      await ledger.noteEdit(account, changed.dlqId, packed, at);
      const edit = { sha256: contentHash(changed), size: changed.body.length, headers: Object.keys(changed.changed) };
      return { edit };
    },
    async read(account, dlqId, ledger) {
      const found = (await findAll(account, [dlqId], ledger)).get(dlqId)!;
      if ('reason' in found) return found;
      const content = await ledger.bodyContent(account, dlqId);
      // Dropped since.
      if (content === undefined) return goneOf(settings.get(account)!);
      const { key } = found;
      try {
        return { kept: keptOf(key === undefined ? content : openBody(content, key, { account, dlqId })) };
      } catch {
        return {
          reason: 'The stored body was changed outside of the daemon: publish the message again at its source.',
        };
      }
    },
  };
}

const SWITCH_ON = 'set deadLetters.bodies of the account, for messages that fail from then on';
const AT_SOURCE = 'publish the message again at its source';

function goneOf({ keep }: BodySettings): NoBody {
  return {
    reason: `No body is kept: its callback came before deadLetters.bodies was set, or keep (${formatDuration(keep)}) has passed.`,
  };
}

/** Why a body is not kept, and what to do. */
const LACKS: Readonly<Record<BodyLack, (facts: BodyFacts, settings: BodySettings) => string>> = {
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
