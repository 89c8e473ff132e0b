import { Injectable } from '@nestjs/common';
import { NotFound } from '../bank/errors';
import type { BankInstruction } from '../bank/records';
import { BankReads } from '../employer/bank-reads';
import { Judgement, judgePayments } from '../pay-run/match';
import { judgeTotals, judgeUnsubmitted } from './decision';
import { expectedRows, PayableRow, Work } from './work';

/** What the bank shows of an instruction that is not submitted, held against its approved rows. */
export type ReadBack =
  | { kind: 'equal'; instruction?: BankInstruction; judgement: Judgement & { kind: 'equal' } }
  | { kind: 'fewer'; judgement: Judgement & { kind: 'equal' | 'fewer' } }
  | { kind: 'wait'; bankStatus: string }
  | { kind: 'moved'; bankStatus: string }
  | { kind: 'dead'; bankStatus: string }
  | { kind: 'different'; why: string; foreign?: string };

/** Reads an unsubmitted instruction whole: its status, its calculated totals, the full list of its payments. */
@Injectable()
export class InstructionReader {
  constructor(private readonly reads: BankReads) {}

  async readBack(work: Work, rows: readonly PayableRow[]): Promise<ReadBack> {
    const { account, planned } = work;
    const bankInstructionId = work.instruction.bankInstructionId;
    if (bankInstructionId === null)
      throw new Error('an instruction without an id at the bank cannot be read');
    const instruction = await this.instruction(work, bankInstructionId);
    if (instruction === 'gone') return { kind: 'dead', bankStatus: 'not found' };
    if (instruction) {
      const state = judgeUnsubmitted(instruction.status);
      if (state !== 'open') return { kind: state, bankStatus: instruction.status };
    }
    const expected = expectedRows(work.instruction.id, rows);
    const seen = await this.reads.payments(account, {
      bankInstructionId,
      createdAt: work.instruction.createdAt,
      bankIds: expected.flatMap((row) => row.bankIds),
    });
    const judgement = judgePayments(expected, seen);
    const totals = judgeTotals(
      { count: planned.rowCount, totalMinor: planned.totalMinor },
      { count: instruction?.calculatedCount, totalMinor: instruction?.calculatedTotalMinor },
    );
    return conclude(judgement, totals, instruction);
  }

  private async instruction(
    work: Work,
    bankInstructionId: string,
  ): Promise<BankInstruction | 'gone' | undefined> {
    try {
      return await this.reads.instruction(work.account, bankInstructionId);
    } catch (error) {
      if (error instanceof NotFound) return 'gone';
      throw error;
    }
  }
}

function conclude(
  judgement: Judgement,
  totals: 'equal' | 'fewer' | 'different',
  instruction: BankInstruction | undefined,
): ReadBack {
  switch (judgement.kind) {
    case 'twice':
      return { kind: 'different', why: `row ${judgement.rowNo} is there twice` };
    case 'foreign':
      return {
        kind: 'different',
        why: 'a payment is there that was never sent',
        foreign: judgement.bankPaymentId,
      };
    case 'different':
      return { kind: 'different', why: `row ${judgement.rowNo} differs in ${judgement.fields.join(', ')}` };
    case 'fewer':
      return { kind: 'fewer', judgement };
    case 'equal':
      if (totals === 'different')
        return { kind: 'different', why: 'the calculated totals are not the planned ones' };
      if (totals === 'fewer') return { kind: 'fewer', judgement };
      return { kind: 'equal', instruction, judgement };
  }
}
