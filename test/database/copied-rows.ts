import { idsOf, insertion, OTHER, Row, secondRows } from './two-employers';

const a = idsOf(1);
const [FRESH, NEXT, LAST] = a.fresh;
const { pay_run: supplement, pay_run_version: version, payment } = secondRows(1);

/** The statements that make a run without a file, prepared by another person than the first run. */
const runOfCopies = (run: Row): string[] => [
  insertion('pay_run', { ...supplement, ...run }),
  insertion('pay_run_version', {
    ...version,
    pay_run_id: run['id']!,
    run_version: 1,
    root_hash: supplement.root_hash,
    prepared_by: OTHER,
  }),
];

const leftOut: Row = {
  ...payment,
  employee_id: 'E3',
  status: 'EXCLUDED',
  live: false,
  excluded_reason: 'not theirs',
};
const copy: Row = { ...payment, id: LAST, pay_run_id: FRESH, row_no: 1 };

/** A row is left out of the first run, and there is a run of copies of that run's rows. */
export const COPYING_RUN: string[] = [
  insertion('payment', { ...leftOut, id: NEXT, row_no: 4, replaces_payment_id: null }),
  ...runOfCopies({ id: FRESH }),
];
export const COPY_OF_LEFT_OUT = insertion('payment', {
  ...copy,
  employee_id: 'E3',
  replaces_payment_id: NEXT,
});
export const COPY_OF_VOID = insertion('payment', copy);

/** The copy is left out, too, and copied by a further run. */
export const COPYING_AGAIN: string[] = [
  insertion('payment', { ...leftOut, id: LAST, pay_run_id: FRESH, row_no: 1, replaces_payment_id: NEXT }),
  ...runOfCopies({ id: NEXT, sequence: 2, parent_run_id: FRESH }),
  insertion('payment', {
    ...copy,
    id: FRESH,
    pay_run_id: NEXT,
    employee_id: 'E3',
    replaces_payment_id: LAST,
  }),
];
