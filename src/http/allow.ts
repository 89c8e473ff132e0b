import { applyDecorators, CustomDecorator, SetMetadata } from '@nestjs/common';
import { ApiBearerAuth, ApiExtension } from '@nestjs/swagger';
import { Problem } from './problem';

/** Roles a person holds at one employer. */
export const EMPLOYER_ROLES = ['preparer', 'approver', 'finance', 'operator'] as const;
export type EmployerRole = (typeof EMPLOYER_ROLES)[number];

/**
 * Who a route is open to. `administrator` is of the installation and holds no role at any employer by it; `any` is
 * whoever is signed in, and on a route of an employer whoever holds a role there.
 */
export type Role = EmployerRole | 'administrator' | 'any';

/** Metadata key of a route's access; a route without it is refused. */
export const ACCESS = 'payrun:access';

/** Access of a route: everybody, or those who hold one of the roles. */
export type Access = 'public' | readonly Role[];

/** Opens a route to those who hold one of `roles` at the employer in its parameter `employerId`. */
export function Allow(...roles: [Role, ...Role[]]): MethodDecorator & ClassDecorator {
  return applyDecorators(SetMetadata(ACCESS, roles), ApiBearerAuth(), ApiExtension('x-roles', roles));
}

/** Opens a route to everybody, signed in or not. */
export function Public(): CustomDecorator {
  return SetMetadata(ACCESS, 'public');
}

/** What refuses a call of somebody who holds none of the roles. */
export function roleRequired(access: readonly Role[]): Problem {
  return new Problem(403, 'ROLE_REQUIRED', `This takes one of the roles: ${access.join(', ')}.`, {
    roles: access,
  });
}
