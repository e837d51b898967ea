/** Makes what happens in the world: each minute, each event has its chance. */
import type { Alerts } from './alerts.ts';
import type { SimDaemon } from './daemon.ts';
import type { Edits } from './edits.ts';
import { WORLD, type Loop, type Process } from './loop.ts';
import type { Operator } from './operator.ts';
import type { Receiver } from './receiver.ts';
import { Replicas } from './replicas.ts';
import type { Rotations } from './rotation.ts';
import type { SimService } from './service.ts';

const MINUTE = 60_000;

export interface Cast {
  readonly service: SimService;
  readonly receiver: Receiver;
  readonly daemon: SimDaemon | Replicas;
  readonly operator: Operator;
  readonly alerts: Alerts;
  /** Absent with replicas. */
  readonly rotations?: Rotations;
  readonly edits?: Edits;
}

export function direct(loop: Loop, cast: Cast): void {
  const { service, receiver, daemon, operator, alerts, rotations, edits } = cast;
  const { faults } = loop;
  loop.after(MINUTE, WORLD, 'minute', () => {
    if (!faults.active) return;
    if (faults.strikes('crash', 0.01)) daemon.crash('at any time');
    if (faults.strikes('storm', 0.01)) service.storm();
    if (faults.strikes('receiver outage', 0.005)) receiver.fail(faults.below(20) * MINUTE);
    if (faults.strikes('reload', 0.005)) daemon.reload();
    if (edits !== undefined && faults.strikes('edit', 0.01)) edits.edit();
    if (faults.strikes('pause', 0.01)) operator.pause();
    if (faults.strikes('deploy', 0.02)) operator.deploy();
    if (faults.strikes('alert', 0.03)) alerts.fire();
    if (faults.strikes('manual plan', 0.02)) void operator.plan();
    if (faults.strikes('note', 0.01)) operator.note();
    if (rotations !== undefined && faults.strikes('rotation', 0.004)) rotations.rotate(operator);
    if (faults.strikes('clock step', 0.002)) step(loop, daemon.process);
    if (faults.strikes('service clock step', 0.002)) step(loop, service.process);
    if (daemon instanceof Replicas) daemon.minute(operator);
    direct(loop, cast);
  });
}

/** Lets the operator look at pending plans every few minutes. */
export function decideAtTimes(loop: Loop, operator: Operator): void {
  loop.after((2 + 8 * operator.random()) * MINUTE, WORLD, 'an operator looks', () => {
    operator.decide();
    decideAtTimes(loop, operator);
  });
}

function step(loop: Loop, process: Process): void {
  process.offset = (loop.faults.below(20) - 10) * 1_000;
  loop.note(process, `clock is off by ${process.offset} ms`);
}

/** Ends every fault, and puts right what was changed. */
export function calm({ service, daemon, operator, rotations, edits }: Cast): void {
  service.rest();
  if (daemon instanceof Replicas) daemon.rest();
  operator.lift();
  edits?.undo();
  rotations?.write();
}
