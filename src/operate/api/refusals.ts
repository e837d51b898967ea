/** Parts that command routes share: refusals of the engine as responses, and permission for long commands. */
import type { Refusal } from '#automate/ledger/commands.ts';
import { allow, type Caller, type Role } from '../http/access.ts';
import { HttpError } from '../http/reply.ts';
import type { ApiContext } from './api-deps.ts';

const STATUS_OF_REFUSAL: Readonly<Record<Refusal['code'], number>> = {
  unknown_policy: 404,
  unknown_plan: 404,
  bad_override: 400,
  bad_selection: 400,
  other_queue: 409,
  expired: 409,
  decided: 409,
  mode: 409,
  unknown_id: 404,
  unread: 502,
};

export function refused({ code, message }: Refusal): HttpError {
  return new HttpError(STATUS_OF_REFUSAL[code], code, message);
}

/** Extends the time limit for authorized callers: reading the service for a plan may take minutes without a byte. */
export function allowLong(context: ApiContext, needs: Role, command: string): Caller {
  const caller = allow(context, needs, command);
  context.mayTakeLong();
  return caller;
}
