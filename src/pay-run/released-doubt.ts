import { IsNull, Raw } from 'typeorm';
import { EmployerTransaction } from '../database/database';
import { Attention } from './attention.entity';
import { aboutInstruction, type Alarm, clear, raise } from './attention.store';
import { WAS_IT_SUBMITTED } from './attention-words';
import { Instruction } from './instruction.entity';

const DOUBT = ' The bank does not say whether somebody else submitted it: it ';

/** What people are told of an instruction that was released at the cut-off. */
export type Told = Pick<Alarm, 'happened' | 'certain' | 'askBank'>;

/** As it is told, and where nobody can tell whether it was submitted by somebody else, that. @param unclear why not */
export function withDoubt(told: Told, unclear: string | undefined): Told {
  if (unclear === undefined) return told;
  const happened = `${told.happened}${DOUBT}${unclear}.`;
  return { ...told, happened, askBank: [WAS_IT_SUBMITTED, told.askBank].filter(Boolean).join(' ') };
}

/**
 * Tells anew of what was released, once a read shows that nothing of it was executed, what is left of that; unless it is decided.
 * @param maxAgeMs of when, in milliseconds, what was read may be: what may be older than what left it open says nothing
 */
export async function tellWithoutDoubt(
  tx: EmployerTransaction,
  instruction: Instruction,
  maxAgeMs: number,
): Promise<void> {
  const { id, bankInstructionId } = instruction;
  // Two people may decide it at this moment.
  const open = await tx.manager.findOne(Attention, {
    where: {
      employerId: tx.employerId,
      kind: 'STALE_DATE',
      subjectId: id,
      resolvedAt: IsNull(),
      openedAt: Raw((at) => `${at} < clock_timestamp() - make_interval(secs => :maxAgeMs::float8 / 1000)`, {
        maxAgeMs,
      }),
    },
    lock: { mode: 'for_no_key_update' },
  });
  const [happened, doubt] = open?.happened.split(DOUBT) ?? [];
  if (open === null || happened === undefined || doubt === undefined) return;
  await clear(tx, ['STALE_DATE'], id, 'the bank shows it in a status that is clear: told anew');
  const { certain, payments, amountMinor } = open;
  const left = open.askBank
    .slice(WAS_IT_SUBMITTED.replaceAll('{ref}', bankInstructionId ?? '').length)
    .trim();
  await raise(tx, {
    kind: 'STALE_DATE',
    ...aboutInstruction(instruction),
    happened,
    certain,
    askBank: left === '' ? undefined : left,
    payments,
    amountMinor,
  });
}
