/** A made-up German IBAN for each number: valid check digits, bank code 9….  */
export function germanIban(n: number): string {
  const bban = `90010000${String(n).padStart(10, '0')}`;
  const check = 98n - (BigInt(`${bban}131400`) % 97n);
  return `DE${String(check).padStart(2, '0')}${bban}`;
}

/** One row of a pay file. */
export interface Row {
  employeeId: string;
  name: string;
  iban: string;
  amount: string;
  remittance?: string;
}

/** `count` employees with one payment each; row n is paid n.01 to n.97 euro and a thousand. */
export function payRows(count: number, first = 1): Row[] {
  return Array.from({ length: count }, (_, index) => {
    const n = index + first;
    return {
      employeeId: `E${String(n).padStart(6, '0')}`,
      name: `Employee ${n}`,
      iban: germanIban(n),
      amount: `${1000 + n}.${String((n % 97) + 1).padStart(2, '0')}`,
      remittance: 'Salary',
    };
  });
}

/** The rows as a pay file. */
export function payFile(rows: readonly Row[]): string {
  const lines = rows.map((row) =>
    [row.employeeId, row.name, row.iban, '', row.amount, 'EUR', row.remittance ?? ''].join(','),
  );
  return `employee_id,name,iban,bic,amount,currency,remittance\n${lines.join('\n')}\n`;
}

/** Cents of the amounts of rows. */
export function totalMinor(rows: readonly Row[]): bigint {
  return rows.reduce((sum, row) => sum + BigInt(row.amount.replace('.', '')), 0n);
}
