import { payRows } from '../support/pay-rows';
import { Payroll } from '../support/payroll';

const PROFILE = {
  name: 'Payroll system',
  columns: { 'Mitarbeiter Nr': 'employeeId', Zahlung: 'amount' },
  amounts: { decimalSign: 'comma', thousandsSign: 'dot' },
  constants: { currency: 'EUR' },
};

describe('profiles of pay files', () => {
  let payroll: Payroll;
  beforeAll(async () => {
    payroll = await Payroll.start();
  });
  afterAll(() => payroll.close());

  const at = (id = '') => payroll.path(`/pay-file-profiles${id && `/${id}`}`);

  it('are saved, listed, shown, replaced and deleted by preparers', async () => {
    const preparer = payroll.as('preparer');
    const made = await preparer.post(at(), PROFILE);
    expect([made.status, made.headers['etag']]).toEqual([201, '"1"']);
    expect(made.data).toMatchObject({ ...PROFILE, titleLines: 0, totals: { lines: 0 } });
    expect(made.data.id).toMatch(/^prf_[0-9a-f]{32}$/);
    const { id } = made.data;
    expect(await preparer.post(at(), PROFILE)).toMatchObject({
      status: 409,
      data: { code: 'PROFILE_NAME_TAKEN' },
    });
    expect((await payroll.as('finance').get(at())).data.items).toEqual([made.data]);
    expect((await payroll.as('approver').get(at(id))).data).toEqual(made.data);
    expect((await payroll.as('approver').put(at(id), PROFILE)).status).toBe(403);

    const changed = { ...PROFILE, titleLines: 1 };
    const stale = { headers: { 'if-match': '"7"' } };
    expect((await preparer.put(at(id), changed, stale)).status).toBe(412);
    const replaced = await preparer.put(at(id), changed, { headers: { 'if-match': '"1"' } });
    expect([replaced.status, replaced.headers['etag'], replaced.data.titleLines]).toEqual([200, '"2"', 1]);
    expect((await preparer.delete(at(id), stale)).status).toBe(412);
    expect((await preparer.delete(at(id))).status).toBe(204);
    expect(await preparer.get(at(id))).toMatchObject({
      status: 404,
      data: { code: 'PAY_FILE_PROFILE_NOT_FOUND' },
    });
    const { data } = await payroll.as('finance').get(payroll.path('/audit'));
    const actions = data.items.map((entry: { action: string }) => entry.action);
    expect(actions.filter((action: string) => action.startsWith('pay-file-profile'))).toEqual([
      'pay-file-profile.deleted',
      'pay-file-profile.replaced',
      'pay-file-profile.created',
    ]);
  });

  it.each([
    ['/amounts', { amounts: { decimalSign: 'comma', thousandsSign: 'comma' } }],
    ['/columns', { columns: { Betrag: 'amount', Zahlung: 'amount' } }],
    ['/columns', { columns: { Betrag: 'amount', 'BE-TRAG': 'ignored' } }],
    ['/columns/Betrag', { columns: { Betrag: 'money' } }],
    ['/totals', { totals: { lines: 0, totalColumn: 'Betrag' } }],
    ['/encoding', { encoding: 'ebcdic' }],
    ['/delimiter', { delimiter: ';' }],
  ])('are refused with a fault at %s', async (pointer, change) => {
    const { status, data } = await payroll
      .as('preparer')
      .post(at(), { ...PROFILE, name: 'Another', ...change });
    expect([status, data.code]).toEqual([422, 'VALIDATION_FAILED']);
    expect(data.errors[0].pointer).toBe(`#${pointer}`);
  });

  it('read a file that a preview has shown', async () => {
    await payroll.as('preparer').post(at(), PROFILE);
    const [first] = payRows(1);
    const text = `Mitarbeiter Nr;Name;IBAN;Zahlung\n${first!.employeeId};Zoë Müller;${first!.iban};1.234\n`;
    const file = Buffer.from(text, 'latin1');
    const fields = { profile: PROFILE.name, period: '2026-11' };
    const headers = { 'content-type': 'text/csv' };
    const preview = (params: Record<string, string>) =>
      payroll.as('preparer').post(payroll.path('/pay-files/preview'), file, { headers, params });
    const asked = await preview(fields);
    expect(asked.status).toBe(200);
    expect(asked.data.faults[0].readings[0]).toEqual({ encoding: 'windows-1252', text: 'Zoë Müller' });
    const shown = await preview({ ...fields, encoding: 'windows-1252' });
    expect(shown.data.rows).toMatchObject([
      { payment: { amount: '1234.00', name: 'Zoe Muller' }, faults: [] },
    ]);
    const stored = await payroll.upload(file, {
      profile: PROFILE.name,
      encoding: 'windows-1252',
      declaredRows: '1',
      declaredTotal: '1234.00',
    });
    expect([stored.status, stored.data.total]).toEqual([201, '1234.00']);
    const { data } = await payroll.as('finance').get(payroll.path(`/pay-files/${stored.data.file.id}`));
    expect(data).toMatchObject({ encoding: 'windows-1252', profileId: expect.stringMatching(/^prf_/) });
    const wrong = await payroll.upload(file, {
      profile: PROFILE.name,
      declaredTotal: '1,5',
      encoding: 'latin-1',
    });
    expect(wrong.data.errors.map((error: { pointer: string }) => error.pointer).sort()).toEqual([
      '#/declaredTotal',
      '#/encoding',
    ]);
  });
});
