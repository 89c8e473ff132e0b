import { bankHours } from '../config/bank-hours';
import { Config } from '../config/env';
import { lastSeen } from '../database/bank-lists';
import { requestsPerMinute } from '../database/bank-rate';
import { readById } from '../database/by-id';
import { EmployerTransaction } from '../database/database';
import { BankHours, earliestExecutionDate, isBankingDay, nextBankingDay } from '../domain/business-day';
import { PAY_RUN_UNSUBMITTED } from '../domain/pay-run';
import {
  estimateSend,
  estimateSubmits,
  PaymentReading,
  SendEstimate,
  SendPace,
  SendShape,
} from '../domain/send-estimate';
import { sendingCloses, sendingOpens } from '../domain/send-window';
import { EmployerAccount } from '../employer/employer.entity';
import { hasBothLists } from '../employer/payment-lists';
import { Problem } from '../http/problem';
import { standingApprovals } from './approval';
import { PlannedInstruction } from './instruction.entity';
import { PayRun } from './pay-run.entity';
import { replacedReadings } from './replaced-readings';

/** What decides how fast a run is sent, and until when. */
export type SendSettings = Pick<
  Config,
  | 'BANK_ADDS_IN_FLIGHT'
  | 'BANK_CLOSED_DAYS'
  | 'BANK_CUT_OFF'
  | 'BANK_LAG_BOUND_MS'
  | 'BANK_REQUESTS_PER_MINUTE'
  | 'BANK_TIMEOUT_MS'
  | 'BANK_TIME_ZONE'
>;

/** What is left to be sent of a run, when that ends at the earliest, and the bank's cut-off for it. */
export interface SendOutlook {
  requests: number;
  ms: number;
  finishesBy: Date;
  cutOff: Date;
  rowsAtBank: number;
}

/** What sending a run takes from its first request to the latest end of its last submit: this run only, see `estimateSend`. */
export async function expectedSend(
  tx: EmployerTransaction,
  run: PayRun,
  settings: SendSettings,
  rowsAtBank = 0,
): Promise<SendEstimate> {
  const { shape, pace } = await sendingOf(tx, run, settings);
  return withTimeOut(estimateSend({ ...shape, rowsAtBank }, pace), settings);
}

/** What the readings before the submits, and these to their latest end, of a run take that is built: this run only. */
export async function expectedSubmits(
  tx: EmployerTransaction,
  run: PayRun,
  settings: SendSettings,
): Promise<SendEstimate> {
  const { shape, pace } = await sendingOf(tx, run, settings);
  return withTimeOut(estimateSubmits(shape, pace), settings);
}

/** No submit begins so late that it could end after the cut-off, were it to take all of its time-out. */
function withTimeOut({ requests, ms }: SendEstimate, { BANK_TIMEOUT_MS }: SendSettings): SendEstimate {
  return { requests, ms: ms + BANK_TIMEOUT_MS };
}

/**
 * What is left to be sent; null once submitting has begun, where there is nothing to send, or of a DRAFT, which is not split
 * into instructions yet.
 */
export async function sendOutlook(
  tx: EmployerTransaction,
  run: PayRun,
  settings: SendSettings,
  now: Date,
): Promise<SendOutlook | null> {
  if (!PAY_RUN_UNSUBMITTED.includes(run.status)) return null;
  const hours = bankHours(settings);
  const rowsAtBank = await countRowsAtBank(tx, run);
  const { requests, ms } = await expectedSend(tx, run, settings, rowsAtBank);
  const approvals = run.status === 'APPROVED' ? await standingApprovals(tx, run) : [];
  const opens = sendingOpens(run.submitAt, approvals.at(-1)?.approvedAt ?? now, now, hours);
  const begins = run.status === 'BUILDING' || run.status === 'VERIFIED' || opens < now ? now : opens;
  const finishesBy = new Date(begins.getTime() + ms);
  return { requests, ms, finishesBy, cutOff: sendingCloses(run.executionDate, hours), rowsAtBank };
}

/**
 * Checks that the run, approved now, can be sent entirely before the cut-off of its execution date. Other runs may
 * take their share of the bank's limit meanwhile: what is approved here can still lapse when it is due.
 * @throws Problem 409 `CUT_OFF_CANNOT_BE_MET`, with the numbers and the first execution date that will do, 422
 * `EXECUTION_DATE_NOT_A_BANKING_DAY` where that date became a closed day of the bank
 */
export async function assertSendable(
  tx: EmployerTransaction,
  run: PayRun,
  settings: SendSettings,
  now: Date,
): Promise<void> {
  const hours = bankHours(settings);
  const { requests, ms } = await expectedSend(tx, run, settings);
  const opens = sendingOpens(run.submitAt, now, now, hours);
  const finishesBy = new Date(Math.max(opens.getTime(), now.getTime()) + ms);
  const cutOff = sendingCloses(run.executionDate, hours);
  if (finishesBy < cutOff) return assertBankOpen(run, hours);
  const date = earliestExecutionDate(finishesBy, hours);
  const seconds = Math.ceil(ms / 1_000);
  const limit = await limitInForce(tx, settings);
  throw new Problem(
    409,
    'CUT_OFF_CANNOT_BE_MET',
    `Sending the run takes ${requests} requests to the bank, about ${seconds} s with the whole of BANK_TIMEOUT_MS for the last submit, and would end at ` +
      `${finishesBy.toISOString()}, not before the cut-off of its execution date at ${cutOff.toISOString()}. ` +
      `Amend it to a later execution date (${date} will do), or take payments out of it.${limit}`,
    {
      requests,
      seconds,
      finishesBy: finishesBy.toISOString(),
      cutOff: cutOff.toISOString(),
      earliestExecutionDate: date,
    },
  );
}

/** Which limit makes it so slow, for whoever knows better. */
async function limitInForce(tx: EmployerTransaction, settings: SendSettings): Promise<string> {
  const configured = settings.BANK_REQUESTS_PER_MINUTE;
  const limit = await requestsPerMinute(tx, configured);
  if (limit === undefined) return '';
  const whence =
    configured === undefined
      ? 'as the bank named it; BANK_REQUESTS_PER_MINUTE sets another'
      : 'as BANK_REQUESTS_PER_MINUTE sets it';
  return ` The limit in force is ${limit} requests a minute, ${whence}.`;
}

function assertBankOpen({ executionDate }: PayRun, { closedDays }: BankHours): void {
  if (isBankingDay(executionDate, closedDays)) return;
  const day = nextBankingDay(executionDate, closedDays);
  const detail =
    `The execution date ${executionDate} is no banking day. ` +
    `Amend the run to another execution date (${day} will do).`;
  throw new Problem(422, 'EXECUTION_DATE_NOT_A_BANKING_DAY', detail, { nextBankingDay: day });
}

async function sendingOf(
  tx: EmployerTransaction,
  run: PayRun,
  settings: SendSettings,
): Promise<{ shape: SendShape; pace: SendPace }> {
  const { reads } = await readById(tx, EmployerAccount, run.accountId);
  const reading = await readingOf(tx, run, reads);
  const statusIsRead = reads.includes('INSTRUCTION');
  const pace = {
    requestsPerMinute: await requestsPerMinute(tx, settings.BANK_REQUESTS_PER_MINUTE),
    addsInFlight: settings.BANK_ADDS_IN_FLIGHT,
    lagMs: settings.BANK_LAG_BOUND_MS,
    reading,
    statusIsRead,
  };
  const instructions = await tx.manager.countBy(PlannedInstruction, {
    employerId: tx.employerId,
    payRunId: run.id,
    runVersion: run.runVersion,
  });
  const searched = hasBothLists({ reads }) ? await lastSeen(tx, 'PAYMENTS') : undefined;
  const replaced = await replacedReadings(tx, run, { reading, statusIsRead, searched });
  return { shape: { rows: run.rowCount, instructions, replaced }, pace };
}

async function readingOf(
  tx: EmployerTransaction,
  run: PayRun,
  reads: EmployerAccount['reads'],
): Promise<PaymentReading> {
  const listed = reads.includes('PAYMENT_LIST');
  if (reads.includes('INSTRUCTION_PAYMENTS') || !(listed || reads.includes('PAYMENT'))) {
    const { pageRows, lacksSome } = await lastSeen(tx, 'INSTRUCTION_PAYMENTS');
    return { by: 'INSTRUCTION_PAYMENTS', pageRows, lacksSome };
  }
  if (!listed) return { by: 'PAYMENT' };
  const { rows, pageRows, lacksSome } = await lastSeen(tx, 'PAYMENTS');
  const ownRows = await countRowsAtBank(tx, run);
  const otherRows = Math.max(rows - ownRows, await countOtherRows(tx, run), 0);
  return { by: 'PAYMENT_LIST', otherRows, pageRows, lacksSome };
}

/** Payments the employer's other instructions of a day may have in the general list, abandoned ones included. */
async function countOtherRows(tx: EmployerTransaction, run: PayRun): Promise<number> {
  const [row] = await tx.query<{ count: number }>(
    `SELECT coalesce(sum(p.row_count), 0)::int AS count FROM instruction i
     JOIN planned_instruction p ON p.employer_id = i.employer_id AND p.id = i.planned_instruction_id
     WHERE i.employer_id = $1 AND (i.created_at > clock_timestamp() - interval '1 day' OR EXISTS (
         SELECT FROM add_intent a WHERE a.employer_id = i.employer_id AND a.instruction_id = i.id
           AND a.intended_at > clock_timestamp() - interval '1 day'))
       AND (i.pay_run_id <> $2 OR i.status = 'ABANDONED')`,
    [tx.employerId, run.id],
  );
  return row?.count ?? 0;
}

/** Payments that are known to be in the instructions which may still be submitted. */
async function countRowsAtBank(tx: EmployerTransaction, run: PayRun): Promise<number> {
  const [row] = await tx.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM bank_payment
     WHERE employer_id = $1 AND add_outcome IN ('ADDED', 'ADOPTED') AND instruction_id = ANY (ARRAY(
       SELECT id FROM instruction WHERE employer_id = $1 AND pay_run_id = $2 AND status IN ('BUILDING', 'VERIFIED')))`,
    [tx.employerId, run.id],
  );
  return row?.count ?? 0;
}
