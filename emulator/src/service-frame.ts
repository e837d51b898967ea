/** The surroundings of a service. */
import type { Clock } from '#foundation/platform/clock.ts';
import type { PortOf } from './delivery/delivery.ts';
import type { DeliveryFaults } from './delivery/delivery-faults.ts';
import type { EmulatorOptions } from './emulator-options.ts';
import type { FactListener } from './statistics/facts.ts';
import type { Route } from './http/route.ts';
import type { SigningKeyRing } from './state/signing-keys.ts';
import type { Store } from './store/store.ts';
import type { Switches } from './state/switches.ts';

/** Parts that a reset keeps. */
export interface ServiceFrame {
  readonly store: Store | undefined;
  readonly options: EmulatorOptions;
  readonly clock: Clock;
  readonly switches: Switches;
  /** Signing keys of the accounts. Receivers hold these keys, so a reset keeps them. */
  readonly signingKeys: SigningKeyRing;
  readonly deliveryFaults: DeliveryFaults;
  readonly portOf: PortOf;
  readonly isMapped: (destination: URL) => boolean;
  readonly extraRoutes: readonly Route[];
  readonly onFact: FactListener;
  readonly onError: (error: unknown) => void;
}
