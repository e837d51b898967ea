/**
 * The service behind the server, composed of its parts. A reset creates a new one in the same frame, so that all its
 * state is discarded.
 */
import type { Admission } from './http/admission.ts';
import type { ControlledService } from './control/controlled-service.ts';
import { Deliverer } from './delivery/delivery.ts';
import { Engine } from './delivery/engine.ts';
import { durableRoutes } from './store/keeper.ts';
import { managementRoutes } from './http/management-routes.ts';
import { messageRoutes } from './http/message-routes.ts';
import { describedRoutes } from './http/described-routes.ts';
import type { Route } from './http/route.ts';
import { createRouter } from './http/router.ts';
import { createServiceState, type ServiceFrame, type ServiceState } from './service-state.ts';
import { SharedLimits } from './delivery/shared-limits.ts';
import { deliveryHeaderNames, type DeliveryHeaderNames } from './delivery/wire-names.ts';

/** Maximum bytes of a response in a callback, where no limit is enforced. It bounds a response that never ends. */
const MAX_CALLBACK_BYTES = 52_428_800;

export interface Service extends ControlledService {
  readonly admission: Admission;
  /** Names of the operations of both APIs. */
  readonly operations: readonly string[];
  /** Continues the unfinished work of an earlier process. */
  readonly begin: () => void;
}

/** Spelling of the service in an installation. */
interface Spelling {
  readonly headerPrefix: string;
  readonly headerNames: DeliveryHeaderNames;
  readonly product: string;
}

export function createService(frame: ServiceFrame): Service {
  const { options, clock } = frame;
  const headerPrefix = options.headerPrefix ?? 'Svc';
  const headerNames = deliveryHeaderNames(headerPrefix);
  const state = createServiceState(frame);
  const { accounts, states, newState, unfinished } = state;
  const parts = { ...frame, ...state, headerPrefix, headerNames, product: options.product ?? 'msgsvc' };
  const engine = createEngine(parts);
  accounts.onPlanChanged(() => engine.limitsChanged());
  const routes = createRoutes({ ...parts, engine });
  return {
    ...state,
    engine,
    headerPrefix,
    headerNames,
    operations: routes.filter(({ api }) => api !== 'control').map(({ operation }) => operation),
    match: createRouter([...routes, ...frame.extraRoutes]),
    begin() {
      for (const { message, due } of unfinished.splice(0)) engine.resume(message, due);
    },
    addAccount(seed) {
      const account = accounts.add(seed, options.random);
      account.createdAt = clock.now();
      states.set(account.id, newState(account));
      return account;
    },
  };
}

type Parts = ServiceFrame & ServiceState & Spelling;

function createEngine(parts: Parts): Engine {
  const { options, clock, portOf, switches, signingKeys, accounts, limitsOf, budget, statistics } = parts;
  const maxDeliveries = options.maxDeliveries ?? 128;
  return new Engine({
    ...parts,
    realTime: options.clock,
    random: options.random,
    deliverer: new Deliverer({
      clock,
      connections: maxDeliveries,
      portOf,
      refusesPrivate: () => switches.privateDestinations === 'refused',
    }),
    signing: { issuer: options.issuer ?? parts.product, keys: signingKeys },
    callbackBytes: (accountId) => Math.min(limitsOf(accounts.byId(accountId)!).messageBytes, MAX_CALLBACK_BYTES),
    shared: new SharedLimits(clock, (accountId) => limitsOf(accounts.byId(accountId)!)),
    faults: parts.deliveryFaults,
    exhausted: (accountId) => budget.exhausted(accounts.byId(accountId)!)?.reason,
    workers: maxDeliveries,
    onFact: (accountId, fact) => {
      statistics.record(accountId, fact);
      parts.onFact(accountId, fact);
    },
  });
}

/** Returns the routes of both APIs. */
function createRoutes(parts: Parts & { readonly engine: Engine }): readonly Route[] {
  const { options, clock, store, switches, states } = parts;
  const dlqMessageCount = (accountId: string): number => {
    const state = states.get(accountId);
    if (state === undefined) return 0;
    state.dlq.trim(clock.now());
    state.workflowDlq.trim(clock.now());
    return state.dlq.size + (switches.dlqMessageCount === 'all' ? state.workflowDlq.size : 0);
  };
  const ofMessages = messageRoutes({ ...parts, random: options.random });
  const routes = describedRoutes([...ofMessages, ...managementRoutes({ ...parts, dlqMessageCount })], parts);
  return store === undefined ? routes : durableRoutes(routes, store);
}
