import { createHash } from 'node:crypto';
import type { EmployerTransaction } from '../../src/database/database';
import { newId } from '../../src/database/new-id';
import { intendCall } from '../../src/employer/bank-calls';
import { Instruction, SubmitAttempt } from '../../src/pay-run/instruction.entity';
import { moveInstruction, planOf } from '../../src/pay-run/instruction.store';
import { UnsentSubmits } from '../../src/submission/unsent-submits';
import { Company, PayOffice, rows } from '../pay-run/pay-office';
import { RunAtBank } from '../pay-run/run-at-bank';
import { eventually } from '../support/eventually';

describe('a submit that this process did not send', () => {
  let office: PayOffice;
  let company: Company;
  beforeAll(async () => {
    office = await PayOffice.open();
  });
  afterAll(() => office.close());

  /** A verified instruction, and the ids of a submit of it. */
  async function verified() {
    company = await office.company();
    const run = await office.run(company, rows(100));
    const atBank = await RunAtBank.approved(office, company, run);
    await atBank.start();
    await atBank.build(1);
    await atBank.move('VERIFIED', 'SUBMITTING');
    const instruction = await office.in(company, (tx) =>
      tx.manager.findOneByOrFail(Instruction, { payRunId: run.id }),
    );
    const { employerId } = company;
    const ids = { attemptId: newId(), callId: newId() };
    const unsent = new UnsentSubmits(office.database);
    unsent.remember({ employerId, instructionId: instruction.id, ...ids, why: 'a test' });
    return { instruction, ids, unsent };
  }

  type Submit = Awaited<ReturnType<typeof verified>>;

  /** Its intent, as it is written down. */
  async function intend(tx: EmployerTransaction, { instruction, ids }: Submit): Promise<void> {
    await moveInstruction(tx, instruction, 'SUBMIT_INTENT', 'service');
    const { rowHash } = await planOf(tx, instruction);
    await tx.manager.insert(SubmitAttempt, {
      employerId: tx.employerId,
      id: ids.attemptId,
      plannedInstructionId: instruction.plannedInstructionId,
      instructionId: instruction.id,
      bankInstructionId: instruction.bankInstructionId ?? '',
      rowHash,
      epoch: 1n,
    });
    await intendCall(tx, {
      callId: ids.callId,
      operation: 'submit',
      subjectId: instruction.id,
      target: '/submit',
      bodyHash: createHash('sha256').digest(),
      epoch: '1',
    });
  }

  /** As it is once that is committed, and its attempt was found to be so. */
  async function intended(submit: Submit, outcome?: SubmitAttempt['outcome']): Promise<void> {
    await office.in(company, (tx) => intend(tx, submit));
    if (outcome !== undefined)
      await office.tamper('UPDATE submit_attempt SET outcome = $2, finished_at = now() WHERE id = $1', [
        submit.ids.attemptId,
        outcome,
      ]);
  }

  const stands = async ({ instruction: { id }, ids }: Submit) =>
    (
      await office.query(
        company,
        `SELECT i.status, s.outcome FROM instruction i JOIN submit_attempt s ON s.id = $2 WHERE i.id = $1`,
        [id, ids.attemptId],
      )
    )[0];

  it('is taken back once, where its attempt stands', async () => {
    const submit = await verified();
    await intended(submit);
    await submit.unsent.takeBack();
    expect(await stands(submit)).toEqual({ status: 'VERIFIED', outcome: 'PROVEN_UNSENT' });
  });

  it('is not taken back where its attempt was before, and another is on its way', async () => {
    const submit = await verified();
    await intended(submit, 'PROVEN_UNSENT');
    await submit.unsent.takeBack();
    expect(await stands(submit)).toEqual({ status: 'SUBMIT_INTENT', outcome: 'PROVEN_UNSENT' });
  });

  it('is left to the people who are asked about it', async () => {
    const submit = await verified();
    await intended(submit, 'IN_DOUBT');
    await office.in(company, (tx) => moveInstruction(tx, submit.instruction, 'SUBMIT_UNKNOWN', 'service'));
    await expect(submit.unsent.takeBack()).resolves.toBeUndefined();
    expect(await stands(submit)).toEqual({ status: 'SUBMIT_UNKNOWN', outcome: 'IN_DOUBT' });
  });

  it('is looked for only once the commit of its intent has ended', async () => {
    const submit = await verified();
    let begin = () => {};
    const taking = new Promise<void>((resolve) => (begin = resolve)).then(() => submit.unsent.takeBack());
    await office.in(company, async (tx) => {
      await intend(tx, submit);
      begin();
      await eventually(() => office.isLockAwaited(), 3_000);
    });
    await taking;
    expect(await stands(submit)).toEqual({ status: 'VERIFIED', outcome: 'PROVEN_UNSENT' });
  });
});
