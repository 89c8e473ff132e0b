import { CanActivate, ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ACCESS, Access, Role, roleRequired } from '../http/allow';
import { notFound, readId } from '../http/prefixed-id';
import { Problem } from '../http/problem';
import { SignedIn, SignedInRequest } from '../http/signed-in';
import { keyInHeader } from './api-key';
import { KeyHolder, KeyHolders } from './key-holder';

/**
 * Stands before every route and refuses by default: a route is open only where `@Allow` or `@Public` says so.
 * Who holds no role at an employer is told that there is no such employer.
 */
@Injectable()
export class AuthGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly keys: KeyHolders,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const access = this.reflector.getAllAndOverride<Access | undefined>(ACCESS, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (access === 'public') return true;
    const request = context.switchToHttp().getRequest<SignedInRequest>();
    const holder = await this.authenticate(request.get('authorization'));
    if (access === undefined) throw new Problem(403, 'ROUTE_NOT_OPEN', 'This route is not open to anybody.');
    const signedIn = enter(holder, request.params['employerId']);
    if (!isAllowed(signedIn, access)) throw roleRequired(access);
    request.signedIn = signedIn;
    return true;
  }

  private async authenticate(authorization: string | undefined): Promise<KeyHolder> {
    const key = keyInHeader(authorization);
    const holder = key === undefined ? undefined : await this.keys.holderOf(key);
    if (holder !== undefined) return holder;
    throw new Problem(401, 'NOT_SIGNED_IN', 'Send a valid API key as "Authorization: Bearer pk_…".');
  }
}

function enter(holder: KeyHolder, employerParam: unknown): SignedIn {
  if (typeof employerParam !== 'string') return { ...holder, employerId: undefined, roles: new Set() };
  const employerId = readId('emp', employerParam);
  const roles = holder.rolesAt.get(employerId);
  if (roles === undefined && !holder.administrator) throw notFound('emp');
  return { ...holder, employerId, roles: roles ?? new Set() };
}

function isAllowed(signedIn: SignedIn, access: readonly Role[]): boolean {
  return access.some((role) => {
    if (role === 'administrator') return signedIn.administrator;
    if (role === 'any') return signedIn.employerId === undefined || signedIn.roles.size > 0;
    return signedIn.roles.has(role);
  });
}
