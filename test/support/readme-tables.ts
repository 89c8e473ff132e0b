import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { OpenAPIObject } from '@nestjs/swagger';
import {
  FAULT_MEANINGS,
  FAULTS_AFTER,
  FAULTS_BEFORE,
  FAULTS_OF_LISTS,
  FAULTS_OF_WEBHOOKS,
  WEBHOOK_FAULT_MEANINGS,
} from '../../src/bank-sandbox/fault-kinds';
import { MAGIC_CREDITORS } from '../../src/bank-sandbox/magic';
import { DEFAULT_VARIANTS, lawfulValues, variantNames } from '../../src/bank-sandbox/variants';
import { settingsTable } from '../../src/config/env';
import {
  BANK_LADDER,
  BANK_STATUSES,
  BankOutcome,
  BankReading,
  readBankStatus,
} from '../../src/domain/bank-status';
import { HOLD_CODES } from '../../src/domain/hold';
import {
  INSTRUCTION_MEANING,
  INSTRUCTION_STATUSES,
  INSTRUCTION_TRANSITIONS,
} from '../../src/domain/instruction';
import { PAY_RUN_MEANING, PAY_RUN_STATUSES, PAY_RUN_TRANSITIONS } from '../../src/domain/pay-run';
import { PAYMENT_MEANING, PAYMENT_STATUSES, PAYMENT_TRANSITIONS } from '../../src/domain/payment';
import { StateTable } from '../../src/domain/state-table';
import { ATTENTION_WORDS, AttentionKind } from '../../src/pay-run/attention-words';
import { Invariant } from '../../src/reconciliation/invariant';
import { INVARIANTS } from '../../src/reconciliation/invariants';
import { TABLE_LINES, TABLE_MEANING } from '../../src/reconciliation/report';
import { operationsTable } from '../contract/readme-table';
import { code, markdownTable as table } from './markdown-table';

/** The root of the checkout. */
export const CHECKOUT = resolve(__dirname, '../..');

const NONE = '—';

/** Which table stands where, in this order: what only its own room's reader needs stands in that room. */
export const READMES: Readonly<Record<string, readonly string[]>> = {
  'README.md': [
    'holds',
    'routes',
    'report',
    'settings',
    'pay-run',
    'instruction',
    'payment',
    'bank-ladder',
    'attention',
    'invariants',
  ],
  'src/bank/README.md': ['operations'],
  'src/bank-sandbox/README.md': ['magic-creditors', 'variants', 'faults'],
};

/** The tables of the READMEs, and one list, by the name in their markers: each is made from the code it describes. */
export function readmeTables(api: OpenAPIObject): Record<string, string> {
  return {
    holds: table(
      ['Held as', 'What was found', 'What to do'],
      Object.entries(HOLD_CODES).map(([name, { meaning, remedy }]) => [code(name), meaning, remedy]),
    ),
    routes: routes(api),
    settings: settings(),
    'pay-run': states('Pay run', PAY_RUN_STATUSES, PAY_RUN_MEANING, PAY_RUN_TRANSITIONS),
    instruction: states('Instruction', INSTRUCTION_STATUSES, INSTRUCTION_MEANING, INSTRUCTION_TRANSITIONS),
    payment: states('Payment', PAYMENT_STATUSES, PAYMENT_MEANING, PAYMENT_TRANSITIONS),
    'bank-ladder': bankLadder(),
    attention: attention(),
    invariants: invariants(),
    report: table(
      ['Line of a reconciliation', 'What it counts'],
      TABLE_LINES.map((name) => [code(name), TABLE_MEANING[name]]),
    ),
    'magic-creditors': table(
      ['Creditor IBAN', 'What the bank does'],
      MAGIC_CREDITORS.map(({ iban, meaning }) => [code(iban), meaning]),
    ),
    operations: operationsTable(),
    variants: variants(),
    faults: faults(),
  };
}

/** Every operation of the OpenAPI document as `METHOD path`, in its order. */
export function operationsOf(api: OpenAPIObject): { call: string; roles: string[]; summary: string }[] {
  return Object.entries(api.paths).flatMap(([path, item]) =>
    (['get', 'post', 'put', 'patch', 'delete'] as const).flatMap((method) => {
      const operation = item[method];
      if (operation === undefined) return [];
      const { 'x-roles': roles } = operation as { 'x-roles'?: string[] };
      return [
        { call: `${method.toUpperCase()} ${path}`, roles: roles ?? [], summary: operation.summary ?? '' },
      ];
    }),
  );
}

/** What stands between the markers of a table. @throws when the README has no such markers. */
export function tableIn(readme: string, name: string): string {
  const [, found] = markers(name).exec(readme) ?? [];
  if (found === undefined) throw new Error(`there is no <!-- table:${name} --> … <!-- /table -->`);
  return found.trim();
}

/** A README with these tables written anew. */
export function withTables(
  readme: string,
  names: readonly string[],
  tables: Readonly<Record<string, string>>,
): string {
  return names.reduce((text, name) => {
    tableIn(text, name);
    return text.replace(markers(name), () => `<!-- table:${name} -->\n\n${tables[name]}\n\n<!-- /table -->`);
  }, readme);
}

/** The text of every source file below a folder of the checkout. */
export function sourcesIn(folder: string): { path: string; text: string }[] {
  return readdirSync(join(CHECKOUT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name))
    .map((path) => ({ path, text: readFileSync(join(CHECKOUT, path), 'utf8') }));
}

function markers(name: string): RegExp {
  return new RegExp(`<!-- table:${name} -->([\\s\\S]*?)<!-- /table -->`);
}

function routes(api: OpenAPIObject): string {
  return table(
    ['Method and path', 'Roles', 'What for'],
    operationsOf(api).map(({ call, roles, summary }) => [code(call), roles.join(', '), summary]),
  );
}

/** Settings that are not the service's own: of the commands that prepare its database, and of the sandbox. */
const OTHER_SETTINGS = [
  ['DATABASE_ADMIN_URL', '', 'The owner role, for `npm run migrate` and `npm run db:init` only.'],
  ['DATABASE_SUPERUSER_URL', '', 'A superuser, for `npm run db:init` only; any database of the server.'],
  ['SANDBOX_HOST', '127.0.0.1', 'Sandbox: address it listens on. Its controls need no token: keep it local.'],
  [
    'SANDBOX_PORT',
    '3001',
    'Sandbox: port. Unless it is set, `npm start` takes a free one when 3001 is taken.',
  ],
  ['SANDBOX_TOKEN', 'sandbox-token', 'Sandbox: the access token it knows. `npm start` ignores it.'],
  [
    'SANDBOX_WEBHOOK_SECRET',
    'sandbox-signing-secret',
    'Sandbox: signs its webhooks. `npm start` makes its own.',
  ],
  [
    'SANDBOX_STATE_FILE',
    '',
    'Sandbox: where its state survives a stop. `npm start` uses `.payrun/bank.jsonl`.',
  ],
  [
    'SANDBOX_FRESH',
    'false',
    'Sandbox: `true` throws away what `SANDBOX_STATE_FILE` holds and begins from the seed.',
  ],
  ['SANDBOX_STEP_MS', '200', 'Sandbox: time between two statuses of a payment.'],
  ['SANDBOX_TIME_ZONE', 'UTC', 'Sandbox: zone of its dates; under `npm start` that of `BANK_TIME_ZONE`.'],
  ['SANDBOX_VARIANTS', '', 'Sandbox: JSON, see [its variants](src/bank-sandbox/README.md).'],
] as const;

function settings(): string {
  const own = settingsTable().map(({ name, default: value, meaning }) => [name, value, meaning] as const);
  return table(
    ['Setting', 'Default', 'What it does'],
    [...own, ...OTHER_SETTINGS].map(([name, value, meaning]) => [code(name), valueOf(value), meaning]),
  );
}

function valueOf(value: string): string {
  if (value === '') return NONE;
  return value === 'required' ? 'required' : code(value);
}

function states<S extends string>(
  what: string,
  all: readonly S[],
  meaning: Readonly<Record<S, string>>,
  transitions: StateTable<S>,
): string {
  return table(
    [what, 'What it means', 'Goes to'],
    all.map((state) => [code(state), meaning[state], transitions[state].map(code).join(', ') || 'final']),
  );
}

const OUTCOMES: readonly BankOutcome[] = ['SETTLED', 'FAILED', 'REJECTED', 'CANCELLED'];

function bankLadder(): string {
  const steps = Object.entries(BANK_LADDER).sort(([, a], [, b]) => a - b);
  const climb = steps.map(([status, rank], index) => {
    const [, below] = steps[index - 1] ?? [];
    return `${below === undefined ? '' : below === rank ? ' = ' : ' < '}${code(status)}`;
  });
  const read = (wanted: (reading: BankReading) => boolean): string =>
    BANK_STATUSES.filter((status) => wanted(readBankStatus(status)))
      .map(code)
      .join(', ');
  const ends = (outcome: BankOutcome) => read((one) => one.kind === 'terminal' && one.outcome === outcome);
  return table(
    ['Read as', "The bank's status"],
    [
      ['a step; they only climb', climb.join('')],
      ['waiting', read((one) => one.kind === 'waiting' && !one.needsBankAction)],
      ['waiting for a person at the bank', read((one) => one.kind === 'waiting' && one.needsBankAction)],
      ...OUTCOMES.map((outcome) => [`the end ${code(outcome)}`, ends(outcome)]),
      ['settled, then sent back', read((one) => one.kind === 'returned')],
      [
        'closes nothing; attention',
        `${read((one) => one.kind === 'unclear')}, and every status not named here`,
      ],
    ],
  );
}

/** The kinds some code raises: a kind only named by the words, the actions and the API is not part of what can happen. */
function raisedKinds(): AttentionKind[] {
  const raising = sourcesIn('src').filter(
    ({ path }) => !path.startsWith('src/http/') && !/attention-(words|actions)\.ts$/.test(path),
  );
  const kinds = Object.keys(ATTENTION_WORDS) as AttentionKind[];
  return kinds.filter((kind) => raising.some(({ text }) => text.includes(`'${kind}'`)));
}

function attention(): string {
  return table(
    ['Kind', 'What is certain', 'What to ask the bank', 'Actions'],
    raisedKinds().map((kind) => {
      const { certain, askBank, actions } = ATTENTION_WORDS[kind];
      return [code(kind), certain, askBank, actions.map(code).join(', ')];
    }),
  );
}

function invariants(): string {
  return table(
    ['Invariant', 'What always holds', 'A breach stops'],
    INVARIANTS.map((invariant) => [code(invariant.name), invariant.sentence, stoppedBy(invariant)]),
  );
}

function stoppedBy({ scope, ofInstallation }: Invariant): string {
  if (scope === 'money moved') return 'everything';
  return ofInstallation ? 'each employer' : 'its employer';
}

function faults(): string {
  const rows = <K extends string>(
    where: string,
    kinds: readonly K[],
    meanings: Readonly<Record<K, string>>,
  ) => kinds.map((kind) => [where, code(kind), meanings[kind]]);
  return table(
    ['Where', '`kind`', 'What happens (in brackets: unless it is given)'],
    [
      ...rows('any call', [...FAULTS_BEFORE, ...FAULTS_AFTER], FAULT_MEANINGS),
      ...rows('lists with an envelope', FAULTS_OF_LISTS, FAULT_MEANINGS),
      ...rows('`"operation":"webhook"`', FAULTS_OF_WEBHOOKS, WEBHOOK_FAULT_MEANINGS),
    ],
  );
}

/** Each variant with its docstring, from which whoever reads the code has it too. */
function variants(): string {
  const source = readFileSync(join(CHECKOUT, 'src/bank-sandbox/variants.ts'), 'utf8');
  return table(
    ['Variant', 'What the bank chose', 'Values', 'Default'],
    variantNames().map((name) => [
      code(name),
      docstringOf(source, name),
      lawfulValues(name),
      code(JSON.stringify(DEFAULT_VARIANTS[name])),
    ]),
  );
}

function docstringOf(source: string, name: string): string {
  const found = new RegExp(`/\\*\\*((?:(?!\\*/)[^])*)\\*/\\s*${name}:`).exec(source)?.[1];
  if (found === undefined) throw new Error(`the variant ${name} says nothing of itself`);
  return found
    .replace(/^\s*\* ?/gm, ' ')
    .replace(/\s+/g, ' ')
    .trim();
}
