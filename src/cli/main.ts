import 'reflect-metadata';
import { Argument, Command, InvalidArgumentError } from 'commander';
import { ConfigurationError } from '../config/env';
import { EMPLOYER_ROLES, EmployerRole } from '../http/allow';
import { bank } from './bank';
import { CommandContext, dbInit, dbStop, onDatabase, revertMigration, runMigrations } from './database';
import { demo } from './demo';
import { linesOfKeys, linesOfPeople } from './lists';
import { Register, withRegister } from './people';
import { Interrupted } from './stage';
import { start } from './start';

/** `EX_CONFIG` of sysexits.h: a supervisor need not try again. */
const CONFIGURATION_EXIT = 78;
const MAX_KEY_DAYS = 3_650;
const DEFAULT_KEY_DAYS = 365;

/** The command line. Every command does what the API or a script of the database does, and prints a line or two. */
function program(context: CommandContext): Command {
  const payrun = new Command('payrun')
    .description('Payroll batch payments: a pay file in, every salary paid exactly once.')
    .showHelpAfterError();
  payrun
    .command('start')
    .description('run the service, with a database and a sandbox bank unless the environment names them')
    .action(() => start(context));
  payrun
    .command('demo')
    .description('pay a month of salaries at the sandbox bank and show every step')
    .option('--fast', 'without pauses')
    .action(({ fast }: { fast?: true }) =>
      demo({ checkout: context.checkout, output: process.stdout, fast: fast ?? false }),
    );
  payrun
    .command('bank')
    .description('run the sandbox bank alone')
    .action(() => bank(context));
  addDatabaseCommands(payrun, context);
  addPeopleCommands(payrun, context);
  return payrun;
}

function addDatabaseCommands(payrun: Command, context: CommandContext): void {
  payrun
    .command('migrate')
    .description('run the pending migrations')
    .option('--revert', 'undo the last one instead')
    .action(({ revert }: { revert?: true }) => (revert ? revertMigration(context) : runMigrations(context)));
  payrun
    .command('db:init')
    .description('make the roles and the database')
    .action(() => dbInit(context));
  payrun
    .command('db:stop')
    .description('stop the database of this checkout')
    .action(() => dbStop(context));
}

/** Prints what `work` answers. */
type InRegister = (work: (register: Register) => Promise<string>) => Promise<void>;

function addPeopleCommands(payrun: Command, context: CommandContext): void {
  const inRegister: InRegister = (work) =>
    onDatabase(context, async ({ databaseUrl }) => context.print(await withRegister(databaseUrl, work)));
  payrun
    .command('restored <reason>')
    .description('say that the database was restored: nothing is submitted until the bank was read')
    .action((reason: string) =>
      inRegister(async (register) => {
        await register.sayRestored(reason);
        return 'Nothing is submitted until the bank was read and two people of every employer resumed.';
      }),
    );
  payrun
    .command('hash-key-changed <reason>')
    .description('say that PAYRUN_HASH_KEY was changed on purpose: the next start keeps the new one')
    .action((reason: string) =>
      inRegister(async (register) =>
        (await register.sayHashKeyChanged(reason))
          ? 'The next start keeps the key it is given. Runs are held until what was hashed before is compared by hand.'
          : 'No key is kept yet: the next start keeps the one it is given.',
      ),
    );
  addPersonCommands(payrun, inRegister);
  addRoleCommands(payrun, inRegister);
  addKeyCommands(payrun, inRegister);
}

function addPersonCommands(payrun: Command, inRegister: InRegister): void {
  const person = payrun.command('person').description('people who work with the service');
  person
    .command('create <name>')
    .description('make a person; prints the id')
    .option('--administrator', 'of the whole installation')
    .action((name: string, { administrator }: { administrator?: true }) =>
      inRegister((register) => register.createPerson(name, administrator ?? false)),
    );
  person
    .command('list')
    .description('everybody: id, name, whether an administrator, and since when disabled')
    .action(() => inRegister(async (register) => linesOfPeople(await register.everybody())));
  person
    .command('disable <person>')
    .description(
      'end every access of a person, by the id, at once and for good; not of the last administrator',
    )
    .action((personId: string) =>
      inRegister(async (register) =>
        (await register.disablePerson(personId)) ? 'Disabled.' : 'The person was disabled already.',
      ),
    );
}

function addRoleCommands(payrun: Command, inRegister: InRegister): void {
  const role = () => new Argument('<role>').choices(EMPLOYER_ROLES);
  const roles = payrun.command('role').description('what a person may do at an employer');
  roles
    .command('grant <person> <employer>')
    .description('give a person a role at an employer, by the ids of both')
    .addArgument(role())
    .action((personId: string, employerId: string, name: EmployerRole) =>
      inRegister(async (register) =>
        (await register.grantRole(personId, employerId, name)) ? 'Granted.' : 'It was held already.',
      ),
    );
  roles
    .command('revoke <person> <employer>')
    .description('take a role at an employer from a person; the others stay')
    .addArgument(role())
    .action((personId: string, employerId: string, name: EmployerRole) =>
      inRegister(async (register) =>
        (await register.revokeRole(personId, employerId, name)) ? 'Revoked.' : 'It was not held.',
      ),
    );
}

function addKeyCommands(payrun: Command, inRegister: InRegister): void {
  const key = payrun.command('key').description('API keys');
  key
    .command('issue <person>')
    .description('make a key; it is printed once and never again')
    .option('--label <text>', 'what it is for', 'command line')
    .option('--days <number>', 'how long it is good for', readDays, DEFAULT_KEY_DAYS)
    .action((personId: string, { label, days }: { label: string; days: number }) =>
      inRegister(async (register) => {
        const issued = await register.issueKey(personId, label, days);
        return `${issued.keyId}\n${issued.key}`;
      }),
    );
  key
    .command('list <person>')
    .description('the keys of a person: id, made, expires, revoked, label; never the key itself')
    .action((personId: string) =>
      inRegister(async (register) => linesOfKeys(await register.keysOf(personId))),
    );
  key
    .command('revoke <key>')
    .description('make a key useless, by its id')
    .action((keyId: string) =>
      inRegister(async (register) => {
        await register.revokeKey(keyId);
        return 'Revoked.';
      }),
    );
}

function readDays(text: string): number {
  const days = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (days >= 1 && days <= MAX_KEY_DAYS) return days;
  throw new InvalidArgumentError(`It is a whole number from 1 to ${MAX_KEY_DAYS}.`);
}

function exitCodeOf(error: unknown): number {
  if (error instanceof Interrupted) return error.exitCode;
  return error instanceof ConfigurationError ? CONFIGURATION_EXIT : 1;
}

program({
  env: process.env,
  // npm calls its scripts in the checkout.
  checkout: process.cwd(),
  print: (line) => process.stdout.write(`${line}\n`),
})
  .parseAsync()
  .catch((error: unknown) => {
    process.stderr.write(`\n${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = exitCodeOf(error);
  });
