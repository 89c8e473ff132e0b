import type { BankGateway } from '../../src/bank/gateway';
import type { BankInstruction } from '../../src/bank/records';
import { Clock } from '../../src/config/clock';
import type { Config } from '../../src/config/env';
import type { Standing } from '../../src/employer/standing';
import { aboutInstruction, raise } from '../../src/pay-run/attention.store';
import type { Attention, AttentionActionRow } from '../../src/pay-run/attention.entity';
import { Burial } from '../../src/submission/burial';
import type { InstructionReader } from '../../src/submission/read-back';
import { idsOf, insertion, PREPARER, secondRows } from '../database/two-employers';
import { NothingAsked, nothingAsked } from '../pay-run/nothing-asked';
import { connected, execute, isWaitedFor, select } from '../support/database';
import { eventually } from '../support/eventually';

const ours = idsOf(1);
const [SUBMIT] = ours.instruction;
const LAG_MS = 300;

describe('a submit in doubt that is to be declared not executed', () => {
  let office: NothingAsked;
  beforeEach(async () => {
    office = await nothingAsked();
    await stands('SUBMIT_UNKNOWN');
    await office.database.inEmployer(ours.employer, (tx) =>
      raise(tx, {
        kind: 'SUBMIT_UNKNOWN',
        ...aboutInstruction({ id: SUBMIT, payRunId: ours.run, bankInstructionId: 'bank-1-1' }),
        payments: 1,
        happened: 'Its submit had no answer.',
      }),
    );
  });
  afterEach(() => office.close());

  const stands = (status: string) =>
    execute(
      office.server.superuserUrl,
      `SET session_replication_role = replica;
       UPDATE instruction SET status = '${status}', bank_rank = 40 WHERE id = '${SUBMIT}'`,
    );
  const [MOVED, OPEN] = ['EXCHANGED', 'INITIATED'];

  const burialAt = (bank: object) =>
    new Burial(office.database, bank as BankGateway, bank as InstructionReader, new Clock(), {
      BANK_LAG_BOUND_MS: LAG_MS,
    } as Config);

  /** What comes of it at a bank that shows it so, the last so from then on, and when that was read, of the delete, in ms. */
  async function proving(shows: readonly string[], isDeleted: boolean) {
    const left = [...shows];
    const readMs: number[] = [];
    let deletedMs = 0;
    const standing = (): Promise<Partial<Standing>> => {
      readMs.push(performance.now());
      const status = left.length > 1 ? left.shift()! : left[0]!;
      const shown = { status } as BankInstruction;
      return Promise.resolve({ shown, statuses: [status], isGone: false, isUnclear: false });
    };
    const deleteInstruction = () => {
      deletedMs = performance.now();
      const answer = { kind: 'yes', value: undefined, status: 204 };
      return Promise.resolve(isDeleted ? answer : { kind: 'in-doubt', why: 'no answer' });
    };
    const about = { kind: 'SUBMIT_UNKNOWN', instructionId: SUBMIT } as Attention;
    const proof = await burialAt({ deleteInstruction, standing })
      .prove(ours.employer, about, null)
      .then(
        () => 'proven',
        ({ code }: { code: string }) => code,
      );
    return { proof, afterMs: readMs.map((at) => at - deletedMs) };
  }
  const recorded = () =>
    select(
      office.server.superuserUrl,
      `SELECT i.status, s.outcome, p.status AS payment, EXISTS (SELECT FROM attention WHERE kind = 'SUBMIT_UNKNOWN'
         AND subject_id = i.id AND resolved_at IS NULL) AS "isAsked"
       FROM instruction i JOIN submit_attempt s ON s.instruction_id = i.id JOIN payment p ON p.id = '${ours.payment}'
       WHERE i.id = '${SUBMIT}'`,
    );
  const EXECUTED = { status: 'SUBMITTED', outcome: 'EXECUTED', payment: 'SUBMITTED', isAsked: false };

  it.each([
    ['before its delete', [MOVED]],
    ['after it', [OPEN, MOVED]],
  ])(
    'is written down as executed where the bank shows so %s, and asked about no more',
    async (_when, shows) => {
      expect((await proving(shows, true)).proof).toBe('WAS_EXECUTED');
      expect(await recorded()).toEqual([EXECUTED]);
    },
  );

  it('is read a lag bound after its delete, whatever it showed at once', async () => {
    const { proof, afterMs } = await proving([OPEN, OPEN, 'CANCELLED'], true);
    expect(proof).toBe('proven');
    expect(Math.max(...afterMs)).toBeGreaterThanOrEqual(LAG_MS - 1);
    const undeleted = await proving([OPEN, OPEN], false);
    expect(undeleted.proof).toBe('NOT_PROVEN_DEAD');
    expect(Math.max(...undeleted.afterMs)).toBeGreaterThanOrEqual(LAG_MS - 1);
  });

  it('is not written down anew where it is followed by then', async () => {
    await connected(office.server.superuserUrl, async (follower) => {
      await follower.query(`BEGIN; SELECT FROM instruction WHERE id = '${SUBMIT}' FOR UPDATE`);
      const underWay = proving([MOVED], true);
      await eventually(() => isWaitedFor(follower), 5_000);
      await follower.query(
        `SET LOCAL session_replication_role = replica; UPDATE instruction SET status = 'SUBMITTED' WHERE id = '${SUBMIT}'; COMMIT`,
      );
      expect((await underWay).proof).toBe('WAS_EXECUTED');
    });
    expect(await recorded()).toMatchObject([{ status: 'SUBMITTED', outcome: null, isAsked: true }]);
  });

  it('is void with its payments once two people said so', async () => {
    const [about] = await select<{ id: string }>(
      office.server.superuserUrl,
      `SELECT id FROM attention WHERE kind = 'SUBMIT_UNKNOWN' AND resolved_at IS NULL`,
    );
    const said = { action: 'NOT_EXECUTED', attention_id: about!.id, evidence: 'a letter', payment_ids: null };
    await execute(
      office.server.superuserUrl,
      insertion('attention_action', { ...secondRows(1).attention_action, ...said }),
    );
    await office.database.inEmployer(ours.employer, (tx) =>
      burialAt({}).bury(
        tx,
        { kind: 'SUBMIT_UNKNOWN', instructionId: SUBMIT } as Attention,
        { proposedBy: PREPARER, reason: 'the bank said so' } as AttentionActionRow,
      ),
    );
    expect(await recorded()).toMatchObject([{ status: 'VOID', outcome: null, payment: 'VOID' }]);
  });
});
