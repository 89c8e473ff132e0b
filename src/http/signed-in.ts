import { createParamDecorator, ExecutionContext } from '@nestjs/common';
import { Request } from 'express';
import { EmployerRole } from './allow';

/** The person behind a request. Ids are UUIDs. */
export interface SignedIn {
  readonly personId: string;
  readonly name: string;
  readonly administrator: boolean;
  /** The employer in the route's parameter `employerId`, if it has one. */
  readonly employerId: string | undefined;
  /** Roles at that employer; empty on a route without one. */
  readonly roles: ReadonlySet<EmployerRole>;
  /** Every employer at which the person holds a role, with the roles. */
  readonly rolesAt: ReadonlyMap<string, ReadonlySet<EmployerRole>>;
}

/** A request that passed the guard; public routes have no `signedIn`. */
export interface SignedInRequest extends Request {
  signedIn?: SignedIn;
}

/** The person who asks: `@Me() me: SignedIn`. Not for public routes. */
export const Me = createParamDecorator((_: unknown, context: ExecutionContext): SignedIn => {
  const { signedIn } = context.switchToHttp().getRequest<SignedInRequest>();
  if (signedIn === undefined) throw new Error('a public route has no person');
  return signedIn;
});
