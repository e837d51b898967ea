/** Running configuration: its settings without secrets, its files, and the result of the last reload. */
import type { ApiDeps } from './api-deps.ts';
import type { RunningConfiguration } from './reading-ports.ts';

/** `/api/v1/configuration`. */
export interface ConfigurationView extends RunningConfiguration {
  readonly at: number;
}

export function readConfiguration(deps: Pick<ApiDeps, 'clock' | 'configuration'>): ConfigurationView {
  return { at: deps.clock.now(), ...deps.configuration() };
}
