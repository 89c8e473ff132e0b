import axios from 'axios';
import { Payroll } from '../support/payroll';

const OPEN = ['/healthz', '/readyz', '/metrics', '/openapi.json', '/docs'];

describe('access', () => {
  let payroll: Payroll;
  let routes: { method: string; path: string; roles: string[] }[];
  beforeAll(async () => {
    payroll = await Payroll.start();
    const { data } = await axios.get(`${payroll.url}/openapi.json`);
    routes = Object.entries(data.paths as Record<string, Record<string, { 'x-roles'?: string[] }>>).flatMap(
      ([path, methods]) =>
        Object.entries(methods).map(([method, operation]) => ({
          method,
          path,
          roles: operation['x-roles'] ?? [],
        })),
    );
  });
  afterAll(() => payroll.close());

  const call = (route: { method: string; path: string }, key?: string, employer = payroll.employer) =>
    axios.request({
      method: route.method,
      baseURL: payroll.url,
      url: route.path
        .replace('{employerId}', employer)
        .replace(/\{[^}]+\}/g, 'run_00000000000000000000000000000000'),
      headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
      validateStatus: () => true,
    });

  it('every route but health, metrics and the description of the API asks for a key', async () => {
    expect(routes.length).toBeGreaterThan(40);
    for (const route of routes) {
      const answer = await call(route);
      const open = OPEN.includes(route.path);
      expect(`${route.method} ${route.path} ${answer.status === 401}`).toBe(
        `${route.method} ${route.path} ${!open}`,
      );
      expect(open || route.roles.length > 0).toBe(true);
    }
  });

  it('of another employer nobody learns that it exists', async () => {
    const nobody = 'emp_00000000000000000000000000000000';
    for (const route of routes.filter(
      (one) => one.path.includes('{employerId}') && !one.roles.includes('administrator'),
    )) {
      const answer = await call(route, payroll.keys.finance, nobody);
      expect(`${route.method} ${route.path} ${answer.status} ${answer.data.code}`).toBe(
        `${route.method} ${route.path} 404 EMPLOYER_NOT_FOUND`,
      );
    }
  });

  it('a role that a route does not name is refused', async () => {
    const roles = ['preparer', 'approver', 'finance', 'operator'] as const;
    for (const route of routes.filter(
      (one) => one.path.includes('{employerId}') && !one.roles.includes('any'),
    )) {
      for (const role of roles.filter((one) => !route.roles.includes(one))) {
        const answer = await call(route, payroll.keys[role]);
        expect(`${role} ${route.method} ${route.path} ${answer.status}`).toBe(
          `${role} ${route.method} ${route.path} 403`,
        );
      }
    }
  });
});
