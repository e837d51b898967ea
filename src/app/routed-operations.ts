/** Operations of operators on the accounts of all replicas. Each is sent by the owner of its account. */
import { operationNamed, type Operation } from '#service/operations.ts';
import type { ApiDeps } from '#operate/api/api-deps.ts';
import { ROLES, type Role } from '#operate/http/access.ts';
import { OperationError } from '#operate/operations/operation-error.ts';
import { accountNamed, leastRole, type Performed } from '#operate/operations/perform.ts';
import type { AskedOperation } from '#operate/operations/ports.ts';
import type { Generation } from './generation.ts';
import type { Routing } from './routing.ts';

/** Kind of these commands. */
export const OPERATION = 'operate';

interface RoutedDeps {
  readonly operate: ApiDeps['operate'];
  readonly generation: () => Generation;
  readonly routing: Routing;
}

/** An operation as another replica sends it. */
export interface SentOperation extends Pick<AskedOperation, 'given' | 'confirm'> {
  readonly operation: string;
  readonly by: string;
  /** Highest role of the caller. */
  readonly role: Role;
}

/** Result of `performHere`. \`needs\`: the caller lacks this role. */
type Sent = { readonly needs: Role } | (Pick<Performed, 'notes'> & { readonly answer: SentAnswer });
type SentAnswer = Omit<Performed['answer'], 'body'> & {
  /** Base64. */
  readonly body: string;
};

export function routedOperations({ operate, generation, routing }: RoutedDeps): ApiDeps['operate'] {
  return async (operation, given) => {
    const account = accountNamed(given.account, generation().whole.accounts).name;
    const asked = { ...given, account };
    // A body of a user's message must not be in the store, which carries commands to other replicas.
    if (operation.name === 'rotate-token' || given.retrigger !== undefined) {
      if (!routing.isHere(account)) throw notHere(operation, account, routing);
      return operate(operation, asked);
    }
    const { by } = asked.allow(leastRole(operation));
    const sent: SentOperation = {
      operation: operation.name,
      given: asked.given,
      confirm: asked.confirm,
      by,
      role: roleOf(asked),
    };
    const command = { account, kind: OPERATION, by, arguments: sent };
    const result = await routing.run<Sent | Performed>(command, asked.signal, () => operate(operation, asked));
    if ('needs' in result) {
      asked.allow(result.needs);
      throw new Error(`the owner of account ${account} requires the role ${result.needs}`);
    }
    return performedOf(result);
  };
}

/** Performs the operation of another replica. */
export async function performHere(
  account: string,
  { operation, by, role, ...asked }: SentOperation,
  { operate, signal }: { readonly operate: ApiDeps['operate']; readonly signal: AbortSignal },
): Promise<Sent> {
  try {
    const { answer, notes } = await operate(operationNamed(operation)!, {
      ...asked,
      account,
      // Files are those of the requester's machine.
      isLocal: false,
      signal,
      allow(needs) {
        if (ROLES.indexOf(role) < ROLES.indexOf(needs)) throw new MissingRole(needs);
        return { by };
      },
    });
    return { answer: { ...answer, body: answer.body.toString('base64') }, notes };
  } catch (error) {
    if (error instanceof MissingRole) return { needs: error.needs };
    throw error;
  }
}

class MissingRole extends Error {
  readonly needs: Role;

  constructor(needs: Role) {
    super(`the role ${needs} is required`);
    this.needs = needs;
  }
}

function performedOf(result: Performed | Exclude<Sent, { needs: Role }>): Performed {
  const { body } = result.answer;
  if (typeof body !== 'string') return result as Performed;
  return { ...result, answer: { ...result.answer, body: Buffer.from(body, 'base64') } };
}

function roleOf(asked: AskedOperation): Role {
  return ROLES.findLast((role) => {
    try {
      asked.allow(role);
      return true;
    } catch {
      return false;
    }
  })!;
}

/** A rotation writes the token to a file of the machine that sends it; a retrigger has the body of a message. */
function notHere({ name }: Operation, account: string, routing: Routing): OperationError {
  const owner = routing.ownerOf(account) ?? 'none at this time';
  const why = name === 'rotate-token' ? `${name} stores the token in a file of` : `the body must not leave`;
  const message = `${why} the replica that owns account ${account}: ${owner}. Run it there, over its unix socket; nothing was sent`;
  return new OperationError('refused', message);
}
