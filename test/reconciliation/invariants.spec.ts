import { append, INSTALLATION_CHAIN } from '../../src/audit/audit';
import { prepareSubmit } from '../../src/bank/prepared';
import { newId } from '../../src/database/new-id';
import { showId } from '../../src/http/prefixed-id';
import { HOLDS_NOTHING } from '../../src/pay-run/attention-words';
import { INVARIANTS } from '../../src/reconciliation/invariants';
import { execute } from '../support/database';
import { Mixed, MIXED } from '../support/mixed-payrolls';
import { Payroll } from '../support/payroll';
import { firstOf, instructions, mixedTemplate, PayrollsCopy } from './payrolls-copy';

/** What is broken, in which run, and all that is told of it. */
interface Corruption {
  what: string;
  run: keyof Mixed | undefined;
  sql: (run: Record<keyof Mixed, string>) => string[];
  told: string[];
}

/** The run copies what was left out of the other, is made by who approved it, and approved by who made the other. */
const approvedByAuthor = (run: string, origin: string) => [
  `UPDATE pay_run_version v SET prepared_by = a.approver_id
   FROM approval a WHERE a.pay_run_id = v.pay_run_id AND v.pay_run_id = '${run}'`,
  `UPDATE approval SET approver_id = prepared_by, prepared_by = approver_id WHERE pay_run_id = '${run}'`,
  `UPDATE pay_run SET parent_run_id = '${origin}', sequence = 1 WHERE id = '${run}'`,
  `UPDATE payment SET replaces_payment_id = (
     SELECT id FROM payment WHERE pay_run_id = '${origin}' AND status = 'EXCLUDED')
   WHERE pay_run_id = '${run}' AND row_no = 1`,
  `DELETE FROM pay_file WHERE pay_run_id = '${run}'`,
];

const CORRUPTIONS: Record<string, Corruption[]> = {
  'rows-are-submitted-once': [
    {
      what: 'a second submit of an instruction',
      run: 'settled',
      sql: ({ settled }) => [
        'DROP INDEX one_submit_per_planned_instruction',
        `INSERT INTO submit_attempt SELECT employer_id, gen_random_uuid(), planned_instruction_id, instruction_id,
           bank_instruction_id, row_hash, epoch, attempted_at, 'IN_DOUBT' FROM submit_attempt
         WHERE instruction_id = ${firstOf(settled)}`,
      ],
      told: ['rows-are-submitted-once', 'submits-have-intents'],
    },
    {
      what: 'a payment in two submitted instructions',
      run: 'settled',
      sql: ({ settled }) => [
        `UPDATE bank_payment SET payment_id = (SELECT id FROM payment WHERE pay_run_id = '${settled}' AND row_no = 7)
         WHERE instruction_id = ${firstOf(settled)} AND row_no = 1`,
      ],
      told: [
        'conservation',
        'nothing-is-of-another',
        'rows-are-submitted-once',
        'settled-by-match',
        'submitted-as-planned',
      ],
    },
  ],
  'submitted-as-planned': [
    {
      what: 'a cent more on a payment',
      run: 'unknown',
      sql: ({ unknown }) => [
        `UPDATE payment SET amount_minor = amount_minor + 1 WHERE pay_run_id = '${unknown}' AND row_no = 1`,
      ],
      told: ['conservation', 'rows-as-approved', 'submitted-as-planned'],
    },
    {
      what: 'a payment that the bank has not',
      run: 'settled',
      sql: ({ settled }) => [
        `DELETE FROM bank_payment WHERE instruction_id IN ${instructions(settled)} AND row_no = 2`,
      ],
      told: ['conservation', 'settled-by-match', 'submitted-as-planned'],
    },
  ],
  'submits-have-intents': [
    {
      what: 'a submit of which no call is written down',
      run: 'settled',
      sql: ({ settled }) => [
        `DELETE FROM bank_call WHERE operation = 'submit' AND instruction_id = ${firstOf(settled)}`,
      ],
      told: ['submits-have-intents'],
    },
    {
      what: 'a submit attempt forgotten',
      run: 'unknown',
      sql: ({ unknown }) => [`DELETE FROM submit_attempt WHERE instruction_id IN ${instructions(unknown)}`],
      told: ['submits-have-intents'],
    },
    {
      what: 'a submit aimed at another instruction',
      run: 'settled',
      sql: ({ settled }) => [
        `UPDATE bank_call SET target = '/api/service-domain/v1/customer-instructions/credit-transfers/1/submit'
         WHERE operation = 'submit' AND instruction_id = ${firstOf(settled)}`,
      ],
      told: ['submits-have-intents'],
    },
  ],
  'paid-as-approved': [
    {
      what: 'an approval taken back after the payment',
      run: 'settled',
      sql: ({ settled }) => [
        `UPDATE approval SET voided_at = now(), voided_reason = 'x' WHERE pay_run_id = '${settled}'`,
      ],
      told: ['approved-as-it-stands', 'paid-as-approved'],
    },
    {
      what: 'a submit of other rows than were approved',
      run: 'unknown',
      sql: ({ unknown }) => [
        `UPDATE submit_attempt SET row_hash = sha256('x') WHERE instruction_id = ${firstOf(unknown)}`,
      ],
      told: ['paid-as-approved'],
    },
    {
      what: 'a submit that was approved only by who wrote a row that it copies',
      run: 'unknown',
      sql: ({ unknown, amended }) => approvedByAuthor(unknown, amended),
      told: ['approver-is-not-preparer', 'conservation', 'paid-as-approved', 'rows-as-approved'],
    },
  ],
  'settled-by-match': [
    {
      what: 'a settled payment without an id at the bank',
      run: 'settled',
      sql: ({ settled }) => [
        `UPDATE bank_payment SET bank_payment_id = NULL, add_outcome = 'IN_DOUBT'
         WHERE instruction_id IN ${instructions(settled)} AND row_no = 2`,
      ],
      told: ['conservation', 'settled-by-match', 'submitted-as-planned'],
    },
  ],
  'ended-payments-stay': [
    {
      what: 'a settled payment said to have failed',
      run: 'settled',
      sql: ({ settled }) => [
        `UPDATE payment SET status = 'FAILED', live = false WHERE pay_run_id = '${settled}' AND row_no = 2`,
      ],
      told: ['conservation', 'ended-as-its-payments', 'ended-as-its-payments', 'ended-payments-stay'],
    },
  ],
  'the-dead-never-move': [
    {
      what: 'an abandoned instruction that was submitted',
      run: 'rebuilt',
      sql: ({ rebuilt }) => [
        `UPDATE instruction SET submitted_at = now() WHERE pay_run_id = '${rebuilt}' AND status = 'ABANDONED'`,
      ],
      told: ['the-dead-never-move'],
    },
    {
      what: 'a released instruction with a submit attempt',
      run: 'released',
      sql: ({ released }) => [
        `INSERT INTO submit_attempt SELECT employer_id, gen_random_uuid(), planned_instruction_id, id,
           bank_instruction_id, (SELECT row_hash FROM planned_instruction p WHERE p.id = planned_instruction_id), 1
         FROM instruction WHERE pay_run_id = '${released}' AND status = 'RELEASED' LIMIT 1`,
      ],
      told: ['submits-have-intents', 'the-dead-never-move'],
    },
    {
      what: 'a payment settled through a void instruction',
      run: 'voided',
      sql: ({ voided }) => [
        `UPDATE payment SET status = 'SETTLED', live = true WHERE pay_run_id = '${voided}' AND row_no = 1`,
      ],
      told: [
        'conservation',
        'ended-as-its-payments',
        'payments-as-their-instruction',
        'settled-by-match',
        'the-dead-never-move',
      ],
    },
  ],
  'calls-have-intents': [
    {
      what: 'adds of which no intent is written down',
      run: 'settled',
      sql: ({ settled }) => [`DELETE FROM add_intent WHERE instruction_id = ${firstOf(settled)}`],
      told: ['calls-have-intents'],
    },
    {
      what: 'an initiation of which no call is written down',
      run: 'settled',
      sql: ({ settled }) => [
        `DELETE FROM bank_call WHERE operation = 'initiate' AND instruction_id = ${firstOf(settled)}`,
      ],
      told: ['calls-have-intents'],
    },
  ],
  'ladder-only-climbs': [
    {
      what: 'a rank that fell',
      run: 'settled',
      sql: ({ settled }) => [
        `UPDATE bank_payment SET bank_rank = 9 WHERE instruction_id IN ${instructions(settled)} AND row_no = 2`,
      ],
      told: ['ladder-only-climbs'],
    },
  ],
  'approver-is-not-preparer': [
    {
      what: 'an approver who prepared the run',
      run: 'approved',
      sql: ({ approved }) => [
        `UPDATE pay_run_version SET prepared_by = (SELECT approver_id FROM approval WHERE pay_run_id = '${approved}')
         WHERE pay_run_id = '${approved}'`,
      ],
      told: ['approver-is-not-preparer'],
    },
    {
      what: 'an approver who prepared what was left out of another run and is copied',
      run: 'approved',
      sql: ({ approved, amended }) => approvedByAuthor(approved, amended),
      told: ['approver-is-not-preparer', 'conservation'],
    },
  ],
  'approved-as-it-stands': [
    {
      what: 'another root hash than the approved one',
      run: 'approved',
      sql: ({ approved }) => [`UPDATE pay_run SET root_hash = sha256('x') WHERE id = '${approved}'`],
      told: ['approved-as-it-stands', 'approved-root-is-whole'],
    },
  ],
  'approved-root-is-whole': [
    {
      what: 'another execution date than was approved',
      run: 'settled',
      sql: ({ settled }) => [
        `UPDATE pay_run SET execution_date = execution_date + 1 WHERE id = '${settled}'`,
        `UPDATE pay_run_version SET execution_date = execution_date + 1 WHERE pay_run_id = '${settled}'`,
      ],
      told: ['approved-root-is-whole'],
    },
    {
      what: 'a paid row of which all hashes but the approved one were made anew',
      run: 'settled',
      sql: ({ settled }) => [
        `UPDATE payment SET row_hash = sha256('x') WHERE pay_run_id = '${settled}' AND row_no = 2`,
        `UPDATE planned_instruction p SET row_hash = (
           SELECT sha256(string_agg(m.row_hash, ''::bytea ORDER BY m.row_no)) FROM payment m
           WHERE m.pay_run_id = p.pay_run_id AND m.row_no BETWEEN p.first_row AND p.last_row)
         WHERE pay_run_id = '${settled}'`,
        `UPDATE submit_attempt s SET row_hash = p.row_hash
         FROM planned_instruction p WHERE p.id = s.planned_instruction_id AND p.pay_run_id = '${settled}'`,
      ],
      told: ['approved-root-is-whole', 'rows-as-approved'],
    },
  ],
  'rows-have-their-hash': [
    {
      what: 'another hash beside a submitted row',
      run: 'settled',
      sql: ({ settled }) => [
        `UPDATE payment SET row_hash = sha256('x') WHERE pay_run_id = '${settled}' AND row_no = 2`,
      ],
      told: ['rows-as-approved', 'rows-have-their-hash'],
    },
  ],
  'run-as-its-instructions': [
    {
      what: 'a run that ended before its instructions',
      run: 'unknown',
      sql: ({ unknown }) => [`UPDATE pay_run SET status = 'SETTLED' WHERE id = '${unknown}'`],
      told: ['ended-as-its-payments', 'run-as-its-instructions', 'states-as-in-the-history'],
    },
  ],
  'ended-as-its-payments': [
    {
      what: 'a run called settled of which a payment failed',
      run: 'partlySettled',
      sql: ({ partlySettled }) => [
        `UPDATE pay_run SET status = 'SETTLED' WHERE id = '${partlySettled}'`,
        `UPDATE state_change SET to_status = 'SETTLED'
         WHERE subject_id = '${partlySettled}' AND to_status = 'PARTLY_SETTLED'`,
      ],
      told: ['ended-as-its-payments'],
    },
    {
      what: 'an instruction called settled of which a payment failed',
      run: 'partlySettled',
      sql: ({ partlySettled }) => [
        `UPDATE instruction SET outcome = 'SETTLED' WHERE pay_run_id = '${partlySettled}' AND outcome = 'PARTLY_SETTLED'`,
      ],
      told: ['ended-as-its-payments'],
    },
  ],
  'payments-as-their-instruction': [
    {
      what: 'a payment that is approved while its submit is in doubt',
      run: 'unknown',
      sql: ({ unknown }) => [
        `UPDATE payment SET status = 'APPROVED' WHERE pay_run_id = '${unknown}' AND row_no = 1`,
      ],
      told: ['conservation', 'payments-as-their-instruction'],
    },
  ],
  'states-as-in-the-history': [
    {
      what: 'a state nobody moved it to',
      run: 'unknown',
      sql: ({ unknown }) => [
        `UPDATE instruction SET status = 'SUBMIT_REFUSED' WHERE pay_run_id = '${unknown}' AND status = 'SUBMIT_UNKNOWN'`,
      ],
      told: ['states-as-in-the-history'],
    },
    {
      what: 'a move that was taken out of the history of a run',
      run: 'settled',
      sql: ({ settled }) => [
        `DELETE FROM state_change WHERE subject_id = '${settled}' AND to_status = 'VERIFIED'`,
      ],
      told: ['states-as-in-the-history'],
    },
    {
      what: 'the first move of an instruction, taken out of the history',
      run: 'settled',
      sql: ({ settled }) => [
        `DELETE FROM state_change WHERE subject_id = ${firstOf(settled)} AND from_status = 'PLANNED'`,
      ],
      told: ['states-as-in-the-history'],
    },
    {
      what: 'an instruction without any history',
      run: 'settled',
      sql: ({ settled }) => [`DELETE FROM state_change WHERE subject_id = ${firstOf(settled)}`],
      told: ['states-as-in-the-history'],
    },
    ...['submitted_at', 'closed_at'].map((time) => ({
      what: `a closed instruction without ${time}`,
      run: 'settled' as const,
      sql: ({ settled }: Record<keyof Mixed, string>) => [
        `UPDATE instruction SET ${time} = NULL WHERE id = ${firstOf(settled)}`,
      ],
      told: ['states-as-in-the-history'],
    })),
  ],
  'one-run-of-a-period': [
    {
      what: 'two runs of one period of a schedule',
      run: 'ready',
      sql: ({ ready, approved }) => [
        'DROP INDEX one_run_per_schedule_period_and_sequence',
        `UPDATE pay_run SET schedule_id = '${ready}' WHERE id IN ('${ready}', '${approved}')`,
      ],
      told: ['one-run-of-a-period', 'one-run-of-a-period'],
    },
  ],
  'nothing-is-of-another': [
    {
      what: 'work on a run in the name of another employer',
      run: 'unknown',
      sql: ({ unknown }) => [
        `UPDATE lease SET employer_id = gen_random_uuid() WHERE subject_id = '${unknown}'`,
      ],
      told: ['nothing-is-of-another'],
    },
    {
      what: 'a payment of another month than its run, which keeps its employee from no second pay',
      run: 'settled',
      sql: ({ settled }) => [
        `UPDATE payment SET period = '2020-01' WHERE pay_run_id = '${settled}' AND row_no = 2`,
      ],
      told: ['nothing-is-of-another'],
    },
  ],
  'never-stuck': [
    {
      what: 'an approved run that nobody will look at again',
      run: 'approved',
      sql: ({ approved }) => [
        `UPDATE lease SET holder = NULL, leased_until = NULL, wake_at = 'infinity' WHERE subject_id = '${approved}'`,
      ],
      told: ['never-stuck'],
    },
    {
      what: 'a parked submit that nobody was told of and nobody reads',
      run: 'unknown',
      sql: ({ unknown }) => [
        `DELETE FROM lease WHERE subject_id IN ${instructions(unknown)}`,
        `DELETE FROM attention WHERE pay_run_id = '${unknown}'`,
      ],
      told: ['never-stuck'],
    },
    {
      what: 'a parked submit of which the question was closed by hand',
      run: 'unknown',
      sql: ({ unknown }) => [
        `UPDATE attention SET resolved_at = now(), resolution = 'seen' WHERE pay_run_id = '${unknown}'`,
      ],
      told: ['never-stuck'],
    },
    {
      what: 'a parked submit that people were told of and nobody reads',
      run: 'unknown',
      sql: ({ unknown }) => [`DELETE FROM lease WHERE subject_id IN ${instructions(unknown)}`],
      told: ['never-stuck'],
    },
    {
      what: 'a parked submit of a stopped run that nobody reads',
      run: 'unknown',
      sql: ({ unknown }) => [
        `DELETE FROM lease WHERE subject_id IN ${instructions(unknown)}`,
        `UPDATE pay_run SET stopped_at = now(), stopped_reason = 'a pause' WHERE id = '${unknown}'`,
      ],
      told: ['never-stuck'],
    },
    ...HOLDS_NOTHING.map((kind) => ({
      what: `an approved run that nobody will look at again, beside a question that holds nothing: ${kind}`,
      run: 'approved' as const,
      sql: ({ approved }: Record<keyof Mixed, string>) => [
        `DELETE FROM lease WHERE subject_id = '${approved}'`,
        `INSERT INTO attention (employer_id, id, kind, subject_id, pay_run_id, happened, certain, ask_bank)
         SELECT employer_id, gen_random_uuid(), '${kind}', account_id, id, 'x', '-', '-'
         FROM pay_run WHERE id = '${approved}'`,
      ],
      told: ['never-stuck'],
    })),
    ...(
      [
        ['ECHO_MISMATCH', 'a name differs'],
        ['REPLACED_UNSEEN', 'A successor of the run would pay again'],
      ] as const
    ).map(([kind, happened]) => ({
      what: `an approved run that nobody will look at again, beside a question of what was given up: ${kind}`,
      run: 'approved' as const,
      sql: ({ approved }: Record<keyof Mixed, string>) => [
        `DELETE FROM lease WHERE subject_id = '${approved}'`,
        `INSERT INTO attention (employer_id, id, kind, subject_id, pay_run_id, instruction_id, happened, certain, ask_bank)
         SELECT r.employer_id, gen_random_uuid(), '${kind}', i.id, r.id, i.id, '${happened}', '-', '-'
         FROM pay_run r, (SELECT id FROM instruction WHERE status = 'ABANDONED' LIMIT 1) i WHERE r.id = '${approved}'`,
      ],
      told: ['never-stuck'],
    })),
  ],
  'returned-as-shown': [
    {
      what: 'a payment said to have come back that the bank shows as settled',
      run: 'settled',
      sql: ({ settled }) => [
        `UPDATE payment SET returned_at = now() WHERE pay_run_id = '${settled}' AND row_no = 2`,
      ],
      told: ['returned-as-shown'],
    },
    {
      what: 'a payment that the bank shows as returned and that counts as kept',
      run: 'settled',
      sql: ({ settled }) => [
        `UPDATE bank_payment SET bank_status = 'RETURNED'
         WHERE instruction_id IN ${instructions(settled)} AND row_no = 2`,
      ],
      told: ['returned-as-shown'],
    },
  ],
  'differences-were-told': [
    {
      what: 'a payment shown otherwise than it was sent, of which nobody was told',
      run: 'settled',
      sql: ({ settled }) => [
        `UPDATE bank_payment SET shown_otherwise = 'amount'
         WHERE instruction_id IN ${instructions(settled)} AND row_no = 2`,
      ],
      told: ['differences-were-told'],
    },
    {
      what: 'a payment of which less came back than people were told',
      run: 'settled',
      sql: ({ settled }) => [
        `UPDATE payment SET returned_at = now(), returned_minor = amount_minor - 2
         WHERE pay_run_id = '${settled}' AND row_no = 2`,
        `UPDATE bank_payment SET bank_status = 'RETURNED'
         WHERE instruction_id IN ${instructions(settled)} AND row_no = 2`,
        `INSERT INTO attention (employer_id, id, kind, subject_id, pay_run_id, payment_id, happened, certain,
           ask_bank, payments, amount_minor, lacking_minor)
         SELECT employer_id, gen_random_uuid(), 'ECHO_MISMATCH', id, pay_run_id, id, 'Less came back.', '-', '-', 1, 0, 1
         FROM payment WHERE pay_run_id = '${settled}' AND row_no = 2`,
      ],
      told: ['differences-were-told'],
    },
    {
      what: 'an undocumented status after an end, where people were told of another one',
      run: 'settled',
      sql: ({ settled }) => [
        `UPDATE bank_payment SET shown_status = 'REVERSED'
         WHERE instruction_id IN ${instructions(settled)} AND row_no = 2`,
        `INSERT INTO attention (employer_id, id, kind, subject_id, pay_run_id, instruction_id, happened, certain,
           ask_bank, payments, amount_minor)
         SELECT employer_id, gen_random_uuid(), 'UNKNOWN_STATUS', id, pay_run_id, id, 'It shows REVISED (rows 2).', '-',
           '-', 0, 0 FROM instruction WHERE id = ${firstOf(settled)}`,
      ],
      told: ['differences-were-told'],
    },
  ],
  'ended-is-watched': [
    {
      what: 'a settled instruction that nobody reads again',
      run: 'settled',
      sql: ({ settled }) => [
        `UPDATE instruction SET closed_at = now() WHERE pay_run_id = '${settled}'`,
        `UPDATE lease SET holder = NULL, leased_until = NULL, wake_at = 'infinity' WHERE subject_id = ${firstOf(settled)}`,
      ],
      told: ['ended-is-watched'],
    },
    {
      what: 'one that was given up, and is on no work list',
      run: 'voided',
      sql: ({ voided }) => [`DELETE FROM lease WHERE subject_id = ${firstOf(voided)}`],
      told: ['ended-is-watched'],
    },
  ],
  conservation: [
    {
      what: 'a cent more in the file',
      run: 'settled',
      sql: ({ settled }) => [
        `UPDATE pay_file SET total_minor = total_minor + 1 WHERE pay_run_id = '${settled}'`,
      ],
      told: ['conservation'],
    },
  ],
  'rows-as-approved': [
    {
      what: 'another account on a paid row',
      run: 'settled',
      sql: ({ settled }) => [
        `UPDATE payment SET iban_sealed = '0:DE89370400440532013000' WHERE pay_run_id = '${settled}' AND row_no = 2`,
      ],
      told: ['rows-as-approved'],
    },
  ],
  'audit-chain': [
    {
      what: 'an entry taken out of the chain',
      run: undefined,
      sql: () => [
        `DELETE FROM audit_entry WHERE seq = 2 AND chain_id <> '00000000-0000-0000-0000-000000000000'`,
      ],
      told: ['audit-chain'],
    },
  ],
  'installation-audit-chain': [
    {
      what: 'an entry put in at the end of the installation’s chain',
      run: undefined,
      sql: () => [
        `INSERT INTO audit_entry SELECT '00000000-0000-0000-0000-000000000000', 1000, at, person_id, action, subject,
           detail, previous_hash, entry_hash FROM audit_entry LIMIT 1`,
      ],
      told: ['installation-audit-chain'],
    },
  ],
};

describe('the standing reconciler', () => {
  let payroll: Payroll;
  let template: string;
  let employerId: string;
  const anotherId = newId();
  let runs: Record<keyof Mixed, string>;
  let copy: PayrollsCopy;
  beforeAll(async () => {
    ({ payroll, template, employerId, runs } = await mixedTemplate());
    await execute(
      payroll.database.superuserUrl,
      `INSERT INTO employer (id, name, time_zone) VALUES ('${anotherId}', 'Another', 'Europe/Paris');
       DELETE FROM reconciler_pass`,
    );
  });
  afterAll(() => payroll?.close());
  beforeEach(async () => {
    copy = await PayrollsCopy.of(template, employerId);
  });
  afterEach(() => copy.close());

  it('has a name, a sentence and a corruption for each invariant, and finds none of them in a sound database', async () => {
    const names = INVARIANTS.map(({ name }) => name);
    expect(names).toEqual([...new Set(names)]);
    expect(names.sort()).toEqual(Object.keys(CORRUPTIONS).sort());
    expect(INVARIANTS.filter(({ sentence }) => !/^[A-Z].{20,}\.$/.test(sentence))).toEqual([]);
    expect(await copy.check()).toEqual([]);
    expect(await copy.stopped()).toEqual([]);
  });

  it.each(
    Object.entries(CORRUPTIONS).flatMap(([name, cases]) =>
      cases.map((one) => [name, one.what, one] as const),
    ),
  )('%s: finds %s, tells people, and stops what it concerns', async (name, _what, { run, sql, told }) => {
    expect(await copy.tamper(...sql(runs))).toBeGreaterThan(0);
    expect(await copy.check()).toEqual(told);
    const attentions = await copy.attentions();
    expect(attentions).toHaveLength(told.length);
    const own = attentions.find(({ happened }) => happened.includes(` ${name} broken`));
    const where = run === undefined ? 'this employer' : showId('run', runs[run]);
    if (name !== 'one-run-of-a-period') expect(own?.happened).toContain(where);
    expect(own?.happened).toContain(INVARIANTS.find((one) => one.name === name)?.sentence);
    expect(attentions.map(({ happened }) => happened).join()).not.toMatch(/DE\d{20}|Employee \d/);
    const scopes = told.map((each) => INVARIANTS.find((one) => one.name === each)?.scope);
    const expected = scopes.includes('internal') ? [employerId] : [];
    expect(await copy.stopped()).toEqual(
      scopes.includes('money moved') ? [...expected, 'everything'] : expected,
    );
  });

  it.each(['CI:7', 'abc==', 'x y/z%2F?', "a-b_c.d!e~f*g'(h)", 'é漢𝄞'])(
    'holds a submit to the instruction %s, as its id stands in a path',
    async (id) => {
      const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;
      const submitTo = (target: string) =>
        `UPDATE bank_call SET target = ${quoted(target)}
         WHERE operation = 'submit' AND instruction_id = ${firstOf(runs.settled)}`;
      await copy.tamper(
        `UPDATE instruction SET bank_instruction_id = ${quoted(id)} WHERE id = ${firstOf(runs.settled)}`,
        submitTo(prepareSubmit(id).path),
      );
      expect(await copy.check()).toEqual([]);
      await copy.tamper(submitTo(prepareSubmit(`${id}:`).path));
      expect(await copy.check()).toEqual(['submits-have-intents']);
    },
  );

  it('tells of a breach once, not again after people resolved it, and again when it has gone and come back', async () => {
    const move = (minor: number) =>
      `UPDATE pay_file SET total_minor = total_minor + ${minor} WHERE pay_run_id = '${runs.settled}'`;
    await copy.tamper(move(1));
    expect(await copy.check()).toEqual(['conservation']);
    expect(await copy.check()).toEqual([]);
    await copy.resume();
    expect(await copy.stopped()).toEqual([]);
    expect(await copy.check()).toEqual([]);
    expect([await copy.attentions(), await copy.stopped()]).toEqual([[], []]);
    await copy.tamper(move(-1));
    expect(await copy.check()).toEqual([]);
    await copy.tamper(move(1));
    expect(await copy.check()).toEqual(['conservation']);
    expect(await copy.attentions()).toHaveLength(1);
    expect(await copy.metrics.registry.metrics()).toContain(
      'payrun_invariant_breaches_total{invariant="conservation"} 2',
    );
  });

  it('tells of each broken invariant and of each run by itself, and resumes when the last one is resolved', async () => {
    await copy.tamper(
      `UPDATE pay_file SET total_minor = total_minor + 1 WHERE pay_run_id IN ('${runs.settled}', '${runs.ready}')`,
      `UPDATE pay_run SET root_hash = sha256('x') WHERE id = '${runs.approved}'`,
    );
    expect(await copy.check()).toEqual([
      'approved-as-it-stands',
      'approved-root-is-whole',
      'conservation',
      'conservation',
    ]);
    expect(await copy.attentions()).toHaveLength(4);
    await copy.resume();
    expect(await copy.stopped()).toEqual([]);
  });

  it('makes one pass of an interval, however many replicas ask for it at once', async () => {
    await copy.tamper(
      `UPDATE pay_file SET total_minor = total_minor + 1 WHERE pay_run_id = '${runs.settled}'`,
    );
    const all = await Promise.all([1, 2, 3, 4].map(() => copy.checkIfDue()));
    expect(all.map((told) => told.length).sort()).toEqual([0, 0, 0, 1]);
    expect(await copy.checkIfDue()).toEqual([]);
    expect(await copy.metrics.registry.metrics()).toContain(
      'payrun_reconciler_check_duration_seconds_count 1\n',
    );
  });

  it.each([
    ['current runs', 300_000, '2099-01-01'],
    ['older runs', 60_000, '2020-01-01'],
  ])('goes round %s that are too many rows for one pass, one after the other', async (_which, rows, date) => {
    await copy.tamper(
      `UPDATE pay_run SET row_count = ${rows}, execution_date = '${date}'
       WHERE status NOT IN ('READY', 'APPROVED', 'FOLLOWING')`,
      `DELETE FROM pay_run WHERE status IN ('READY', 'APPROVED', 'FOLLOWING')`,
    );
    const ended = MIXED.length - 3;
    const passes: string[][] = [];
    for (let n = 0; n < ended + 2; n += 1) passes.push(await copy.check());
    const told = passes.map((names) => names.filter((name) => name === 'conservation').length);
    expect(told).toEqual([...Array(ended).fill(1), 0, 0]);
  });

  it('goes through the chain of the installation with each employer, and stops each of them', async () => {
    await copy.database.outsideEmployers((tx) =>
      append(tx, { action: 'service.stopped', subject: 'service', detail: { reason: 'incident' } }),
    );
    expect(await copy.check()).toEqual([]);
    await copy.tamper(
      `UPDATE audit_entry SET detail = '{}' WHERE chain_id = '${INSTALLATION_CHAIN}' AND action = 'service.stopped'`,
    );
    expect(await copy.check()).toEqual(['installation-audit-chain']);
    expect(await copy.check(anotherId)).toEqual(['installation-audit-chain']);
    expect(await copy.stopped()).toEqual([employerId, anotherId].sort());
  });

  it('says which invariant could not be asserted, and asserts the others', async () => {
    await copy.tamper(
      'REVOKE SELECT ON add_intent FROM payrun_app',
      `UPDATE pay_file SET total_minor = total_minor + 1 WHERE pay_run_id = '${runs.settled}'`,
    );
    await expect(copy.check()).rejects.toThrow('not asserted: calls-have-intents');
    expect(await copy.attentions()).toHaveLength(1);
    expect(await copy.metrics.registry.metrics()).toContain(
      'payrun_reconciler_failures_total{invariant="calls-have-intents"} 1',
    );
  });
});
