/** A service with the control API, and requests to it. */
import type { RunOptions } from '#emulator/emulator-options.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { httpSink, type Answer } from '../../test/support/http-sink.ts';
import { START, world, type World } from './world.ts';

/** Starts a service with the control API, whose virtual time begins at START. */
export function controlled(options: Partial<RunOptions> = {}): Promise<World> {
  return world({ clock: systemClock, time: 'virtual', startAt: START, control: true, ...options });
}

/** Starts a destination, which responds as given, and a service with the control API. */
export async function controlledWithSink(answer?: Answer) {
  return { sink: await httpSink(answer), service: await controlled() };
}

interface Controlled<T> {
  readonly status: number;
  readonly json: T;
}

type Control = <T = Record<string, unknown>>(
  service: Pick<World, 'emulator'>,
  line: string,
  body?: unknown,
) => Promise<Controlled<T>>;

/** Sends a request to the control API, without credentials. */
export const control: Control = async ({ emulator }, line, body) => {
  const [method, path] = line.split(' ') as [string, string];
  const response = await fetch(`${emulator.url}/-/emulator${path}`, {
    method,
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return { status: response.status, json: (await response.json()) as never };
};
