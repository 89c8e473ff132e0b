import { Readable } from 'node:stream';
import { germanIban } from '../test/support/pay-rows';

const HEADER = 'employee_id,name,iban,bic,amount,currency,remittance\n';
/** As a browser or curl sends it: some hundred rows at once. */
const ROWS_AT_ONCE = 500;
const GIVEN_NAMES = ['Anna', 'Bruno', 'Chloé', 'Dörte', 'Emil', 'Françoise', 'Grete', 'Håkon'];
const FAMILY_NAMES = ['Andersson', 'Brandt', 'Castro', 'Dvořák', 'Eriksen', 'Fontaine', 'Günther'];

/** A pay file of made-up people without a fault: half of the rows with a BIC, three quarters with a text. */
export function payFileOf(rows: number): Readable {
  return Readable.from(chunks(rows), { objectMode: false });
}

function* chunks(rows: number): Generator<Buffer> {
  yield Buffer.from(HEADER);
  for (let first = 1; first <= rows; first += ROWS_AT_ONCE) {
    const count = Math.min(ROWS_AT_ONCE, rows - first + 1);
    yield Buffer.from(Array.from({ length: count }, (_, index) => rowOf(first + index)).join(''));
  }
}

function rowOf(n: number): string {
  const name = `${GIVEN_NAMES[n % 8]} ${FAMILY_NAMES[n % 7]}`;
  const bic = n % 2 === 0 ? 'MARKDEFF' : '';
  const cents = String(n % 100).padStart(2, '0');
  const remittance = n % 4 === 0 ? '' : `Salary of employee ${n}`;
  const id = `E${String(n).padStart(7, '0')}`;
  return `${id},${name},${germanIban(n)},${bic},${1_000 + (n % 4_000)}.${cents},EUR,${remittance}\n`;
}
