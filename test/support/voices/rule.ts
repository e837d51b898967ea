/** A rule compares two voices of the same moment, or a voice with the service's books or with an earlier moment. */
import type { Exposition } from '../exposition.ts';
import type { Voices } from './ask.ts';
import type { Place, VoicesWorld } from './world.ts';

/** A JSON object of the API. The rules read it as a stranger would, not by the program's types. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any;

/** Facts that outlive a moment. */
export interface Memory {
  /** States of plans that were decided, by id. */
  readonly decided: Map<string, string>;
  /** Start of an outage that still lasts, by destination. */
  readonly since: Map<string, number>;
  /** Members that an incident ever had, by id. */
  readonly ever: Map<string, number>;
  /** Resumes into a destination at the moment when its outage was certain. */
  readonly resumes: Map<Place, number>;
}

export function emptyMemory(): Memory {
  return { decided: new Map(), since: new Map(), ever: new Map(), resumes: new Map() };
}

export type Found = readonly [subject: string, said: string];
export type Rule = (
  voices: Omit<Voices, 'metrics'> & { readonly metrics: Exposition },
  world: VoicesWorld,
  memory: Memory,
) => readonly Found[];

let comparisons = 0;

/** Number of comparisons that the rules of this process have made. */
export function comparisonsMade(): number {
  return comparisons;
}

/** Contradiction unless the condition is true. */
export function claim(isTrue: boolean, subject: string, said: string): Found[] {
  comparisons += 1;
  return isTrue ? [] : [[subject, said]];
}

/** Contradiction if the values differ. */
export function differ(subject: string, said: Readonly<Record<string, unknown>>): Found[] {
  const values = Object.values(said).map((value) => JSON.stringify(value));
  return claim(
    values.every((value) => value === values[0]),
    subject,
    JSON.stringify(said),
  );
}

/** Contradiction if a text lacks a part. Commands of the text may name the daemon. */
export function missing(subject: string, where: string, text: string, what: string): Found[] {
  return claim(plain(text).includes(plain(what)), subject, `${where} lacks: ${what}`);
}

/** A text without the marks of commands, and without their option that names the daemon. */
export function plain(text: string): string {
  return text
    .replaceAll(/ --socket \S+\.sock/g, '')
    .replaceAll('`', '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ (?=[.,;:])/g, '');
}
