import { EntityTarget, ObjectLiteral } from 'typeorm';
import { BankHook, Employer, EmployerAccount } from './employer/employer.entity';
import { ApiKey, Person, PersonRole } from './identity/person.entity';
import { PayFile } from './pay-file/pay-file.entity';
import { KeptProfile } from './pay-file/profile.entity';
import { Attention, AttentionActionRow } from './pay-run/attention.entity';
import { BankPaymentRow, Instruction, PlannedInstruction, SubmitAttempt } from './pay-run/instruction.entity';
import { Amendment, Approval, PayRun, PayRunVersion } from './pay-run/pay-run.entity';
import { PaySchedule, SchedulePeriod } from './pay-run/pay-schedule.entity';
import { Payment } from './pay-run/payment.entity';

/** Every entity of the schema. */
export const ENTITIES: EntityTarget<ObjectLiteral>[] = [
  Amendment,
  ApiKey,
  Approval,
  Attention,
  AttentionActionRow,
  BankHook,
  BankPaymentRow,
  Employer,
  EmployerAccount,
  Instruction,
  KeptProfile,
  PayFile,
  PayRun,
  PayRunVersion,
  PaySchedule,
  Payment,
  Person,
  PersonRole,
  PlannedInstruction,
  SchedulePeriod,
  SubmitAttempt,
];
