import { payFile, payRows, Row } from '../support/pay-rows';
import { Payroll } from '../support/payroll';

describe('the second month', () => {
  let payroll: Payroll;
  beforeAll(async () => {
    payroll = await Payroll.start({ tickIbans: true });
  });
  afterAll(() => payroll.close());

  const REASON = 'compared with the contracts';
  const monthBefore = (period: string): string => {
    const [year = 0, month = 0] = period.split('-').map(Number);
    return new Date(Date.UTC(year, month - 2, 1)).toISOString().slice(0, 7);
  };
  const ticks = (id: string, body: object) =>
    payroll.as('approver').post(payroll.path(`/pay-runs/${id}/iban-ticks`), body);
  const listed = async (id: string, rest: string) =>
    (await payroll.as('approver').get(payroll.path(`/pay-runs/${id}/${rest}`))).data.items;

  it('is held against the first: new IBANs are ticked, then everybody is paid where the approver looked', async () => {
    const period = payroll.executionDate().slice(0, 7);
    const earlier = payRows(4);
    const first = await payroll.uploaded(payFile(earlier), { period: monthBefore(period) });
    const refused = await payroll.approve(first);
    expect([refused.status, refused.data.code, refused.data.context]).toEqual([
      409,
      'IBANS_NOT_TICKED',
      { missing: 4, toTick: 4 },
    ]);
    expect((await ticks(first.id, { rootHash: first.rootHash, all: true, reason: REASON })).status).toBe(200);
    expect((await payroll.approve(first)).status).toBe(200);
    await payroll.until(first.id, ['SETTLED']);

    const settings = { remittanceTemplate: 'Pay {period} {employer}, {employee_id}' };
    expect((await payroll.as('operator').patch(payroll.path(''), settings)).data).toMatchObject(settings);
    const [ann, ben, cem, , joined] = payRows(5) as [Row, Row, Row, Row, Row];
    const [elsewhere] = payRows(1, 70) as [Row];
    const rows = [
      { ...ann, name: 'Zoë Müller', remittance: undefined },
      { ...ben, iban: elsewhere.iban },
      { ...cem, amount: '9000.00' },
      joined,
    ];
    const second = await payroll.uploaded(payFile(rows), { period });
    expect((await payroll.run(second.id)).comparison).toMatchObject({
      before: { period: monthBefore(period), payRunIds: [first.id], payments: 4, total: first.total },
      joined: { payments: 1 },
      left: { payments: 1 },
      netChanged: { payments: 1, amount: '9000.00', before: cem.amount },
      ibanChanged: { payments: 1 },
      nameChanged: { payments: 1 },
      ibans: { required: true, toTick: 2, ticked: 0 },
    });
    expect(await listed(second.id, 'payments?nameChanged=true')).toMatchObject([
      {
        name: 'Zoe Muller',
        writtenName: 'Zoë Müller',
        remittance: `Pay ${period} Birch Foods SARL, ${ann.employeeId}`,
      },
    ]);

    const toTick = [
      ...(await listed(second.id, 'differences?kind=JOINED')),
      ...(await listed(second.id, 'differences?kind=IBAN_CHANGED')),
    ];
    expect(toTick.map(({ now }) => now.employeeId)).toEqual([joined.employeeId, ben.employeeId]);
    const { rootHash } = second;
    const [one, other] = toTick.map(({ now }) => now.paymentId as string);
    await ticks(second.id, { rootHash, paymentIds: [one] });
    expect((await payroll.approve(second)).data.context).toEqual({ missing: 1, toTick: 2 });
    await ticks(second.id, { rootHash, paymentIds: [other] });
    expect((await payroll.approve(second)).status).toBe(200);
    await payroll.until(second.id, ['SETTLED']);
    const paid = (await payroll.ledger()).payees.filter(({ iban }) => iban === elsewhere.iban);
    expect(paid).toMatchObject([{ count: 1, movedMinor: ben.amount.replace('.', '') }]);
    const { data } = await payroll.as('finance').get(payroll.path('/audit'));
    const actions = data.items.map(({ action }: { action: string }) => action);
    expect(actions.filter((action: string) => action === 'pay-run.ibans-ticked')).toHaveLength(3);
  });
});
