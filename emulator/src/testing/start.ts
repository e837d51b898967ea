/** The library `msgsvc-opsd/emulator`: an emulator with one account, for the tests of an application. */
import { readDeliveryFaultRule, readFaultRule } from '../control/fault-rule.ts';
import type { EmulatorControl } from '../control/control.ts';
import type { FaultRules } from '../state/fault-rules.ts';
import { runEmulator as startService, type RunningEmulator as Service } from '../emulator.ts';
import type {
  Emulator,
  EmulatorClock,
  EmulatorDestinations,
  EmulatorFaults,
  FaultFrequency,
  FaultRule,
  StartEmulator,
} from '../types/public.ts';
import { advanceOf, limitOf, seedOf, serviceOptions, setOf, settingsOf, type Settings } from './options.ts';
import { deadLettersOf, deliveredOf, messageOf } from './views.ts';

export type * from '../types/public.ts';

export const startEmulator: StartEmulator = async (options = {}) => {
  const settings = settingsOf(options);
  return emulatorOf(await startService(serviceOptions(settings)), settings);
};

function emulatorOf(service: Service, { accountId, username, password }: Settings): Emulator {
  const { url, control, operations } = service;
  const clock = clockOf(control);
  return {
    url,
    get token() {
      return service.accounts.byId(accountId)!.token;
    },
    accountId,
    username,
    password,
    clock,
    faults: rulesOf(control.faults as FaultRules<FaultRule>, (rule) => {
      const unknown = rule.operations?.find((name) => !operations.includes(name));
      if (unknown === undefined) return readFaultRule(rule) as FaultRule;
      throw new Error(`unknown operation ${unknown} in a fault rule; known operations: ${operations.join(', ')}`);
    }),
    deliveryFaults: rulesOf(control.deliveryFaults, readDeliveryFaultRule),
    destinations: destinationsOf(service),
    get signingKeys() {
      return service.signingKeys(accountId);
    },
    rollSigningKeys: () => service.rollSigningKeys(accountId),
    messages: () => [...service.state(accountId).messages.values()].map(messageOf),
    deadLetters() {
      const { dlq, workflowDlq } = service.state(accountId);
      return deadLettersOf({ message: dlq, workflow: workflowDlq }, clock.now());
    },
    requests: () => control.requests.list().map(({ sequence: _sequence, ...request }) => request),
    seed: (seed) => control.seed(seedOf(seed)),
    idle: async (options = {}) => void (await control.idle(limitOf(options))),
    reset: () => control.reset(),
    stop: () => service.stop(),
    [Symbol.asyncDispose]: () => service.stop(),
  };
}

function clockOf(control: EmulatorControl): EmulatorClock {
  return {
    get mode() {
      return control.clock().mode;
    },
    now: () => control.clock().now,
    advance: async (ms, options = {}) => void (await control.advance(advanceOf(ms, options))),
    set: async (time, options = {}) => void (await control.advance(setOf(time, options))),
  };
}

function rulesOf<Rule extends FaultFrequency>(
  rules: FaultRules<Rule>,
  read: (rule: Rule) => Rule,
): EmulatorFaults<Rule> {
  return {
    add: (rule) => rules.add(read(rule)),
    list: () => rules.list(),
    remove: (id) => rules.remove(id),
    clear: () => rules.clear(),
  };
}

function destinationsOf({ destinations }: Service): EmulatorDestinations {
  return {
    script: (place, steps) => destinations.script(place, steps),
    requests: (host) => destinations.requests(host).map(deliveredOf),
    clear: (host) => destinations.clear(host),
  };
}
