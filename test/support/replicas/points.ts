/**
 * Points between a decision and its effect. A test arms one for a replica. The data at this point is then held until
 * the test lets it pass or drops it.
 */
import type { Gate, Piece } from './link.ts';

export const POINTS = [
  'begin', // the first statement of a write transaction has not reached the database
  'commit', // the commit of an owner's transaction has not reached the database
  'intent', // an intent is committed, and its response is on its way
  'request', // the request of an action is on its way
  'response', // the service has acted, and its response is on its way
] as const;
export type Point = (typeof POINTS)[number];

export type Fate = 'pass' | 'drop';

interface Armed {
  readonly replica: string;
  readonly point: Point;
  readonly hit: () => void;
  readonly fate: Promise<Fate>;
  /** Number of matching pieces to let pass first. */
  skip: number;
}

export interface Trap {
  /** Resolves when the data of the point is held. */
  readonly hit: Promise<void>;
  /** Ends the hold. Without a hit, nothing is held later. */
  release(fate: Fate): void;
}

const WRITE = /^(?:POST \/v2\/workflows\/dlq|DELETE |PATCH )/;

export class Points {
  #armed: Armed | undefined;

  arm(replica: string, point: Point, skip: number): Trap {
    const hit = Promise.withResolvers<void>();
    const fate = Promise.withResolvers<Fate>();
    const armed: Armed = { replica, point, hit: hit.resolve, fate: fate.promise, skip };
    this.#armed = armed;
    return {
      hit: hit.promise,
      release: (chosen) => {
        if (this.#armed === armed) this.#armed = undefined;
        fate.resolve(chosen);
      },
    };
  }

  /** Returns the gate of a replica's connections to the database. */
  database(replica: string): Gate {
    const stages = new WeakMap<object, { isFenced: boolean; hasIntent: boolean; isCommitting: boolean }>();
    return ({ bytes, from, connection }) => {
      const stage = stages.get(connection) ?? { isFenced: false, hasIntent: false, isCommitting: false };
      stages.set(connection, stage);
      if (from === 'server') {
        if (!stage.isCommitting) return undefined;
        stages.delete(connection);
        return stage.hasIntent ? this.#hold(replica, 'intent') : undefined;
      }
      stage.isFenced ||= bytes.includes('FOR SHARE');
      stage.hasIntent ||= bytes.includes('INSERT INTO intents');
      stage.isCommitting = bytes.includes('COMMIT');
      if (bytes.includes('pg_current_xact_id()')) return this.#hold(replica, 'begin');
      return stage.isCommitting && stage.isFenced ? this.#hold(replica, 'commit') : undefined;
    };
  }

  /** Returns the gate of a replica's connections to the service. @param onRequest called for each request */
  service(replica: string, onRequest: (isWrite: boolean) => void): Gate {
    const writing = new WeakSet<object>();
    return ({ bytes, from, connection }: Piece) => {
      if (from === 'server') return writing.delete(connection) ? this.#hold(replica, 'response') : undefined;
      const head = bytes.toString('latin1', 0, 64);
      if (!/^(?:GET|POST|PATCH|DELETE) \//.test(head)) return undefined;
      const isWrite = WRITE.test(head);
      onRequest(isWrite);
      if (!isWrite) return undefined;
      writing.add(connection);
      return this.#hold(replica, 'request');
    };
  }

  #hold(replica: string, point: Point): Promise<Fate> | undefined {
    const armed = this.#armed;
    if (armed?.replica !== replica || armed.point !== point || armed.skip-- > 0) return undefined;
    this.#armed = undefined;
    armed.hit();
    return armed.fate;
  }
}
