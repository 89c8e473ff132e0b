import { CHARGE_BEARER } from '../bank/prepared';
import type { EmployerTransaction } from '../database/database';
import { MOST_NAMED, textOfFirstFew } from '../domain/first-few';
import { grouped } from '../domain/grouped';
import { aboutInstruction, raiseUndecided } from './attention.store';
import { ATTENTION_WORDS } from './attention-words';
import type { Instruction } from './instruction.entity';
import { namedSubject } from './named-subject';

/** A row of an instruction, and who the bank shows as bearing its charges; absent where it does not show that. */
interface ShownBearer {
  rowNo: number;
  chargeBearer?: string;
}

/** The other codes there are (ISO 20022, ChargeBearerType1Code). */
const OTHER_CODES: readonly string[] = ['CRED', 'DEBT', 'SHAR'];

/** What else is shown may say anything, and is told to whom may see payments. */
const NO_CODE = 'that no document names';

/**
 * That the bank shows payments with another charge bearer than they were sent with (Step 2, `chargeBearer`) is asked once of
 * a run, for each code: it may do so with all of them. Nothing is held back for it.
 */
export async function tellOfBearers(
  tx: EmployerTransaction,
  instruction: Instruction,
  shown: readonly ShownBearer[],
): Promise<void> {
  const others = shown.filter(({ chargeBearer = CHARGE_BEARER }) => chargeBearer !== CHARGE_BEARER);
  const byCode = grouped(others, codeOf);
  // In one order: batches of one instruction tell of them side by side.
  for (const code of [...byCode.keys()].sort()) {
    const those = byCode.get(code) ?? [];
    const rows = [...new Set(those.map(({ rowNo }) => String(rowNo)))];
    const written = [...new Set(those.map(({ chargeBearer = '' }) => `"${chargeBearer}"`))];
    await raiseUndecided(tx, {
      kind: 'CHARGE_BEARER_DIFFERS',
      ...aboutInstruction(instruction),
      subjectId: namedSubject(`${instruction.payRunId} charge bearer ${code}`),
      payments: rows.length,
      happened: `The bank shows payments of this run with a charge bearer ${code}, and not ${CHARGE_BEARER}, which they were sent with.`,
      ...(code === NO_CODE && { bankWords: `Shown: ${textOfFirstFew(written, MOST_NAMED)}.` }),
      certain: `${ATTENTION_WORDS.CHARGE_BEARER_DIFFERS.certain} Found first in row ${textOfFirstFew(rows, MOST_NAMED)}.`,
    });
  }
}

function codeOf({ chargeBearer = '' }: ShownBearer): string {
  return OTHER_CODES.includes(chargeBearer) ? chargeBearer : NO_CODE;
}
