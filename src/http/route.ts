import { Request } from 'express';

/** The template of the route that answered, such as `/v1/employers/:employerId/audit`, without any value in it. */
export function routeOf(request: Request): string {
  const route: unknown = request.route;
  if (typeof route !== 'object' || route === null || !('path' in route)) return 'unmatched';
  return typeof route.path === 'string' ? route.path : 'unmatched';
}
