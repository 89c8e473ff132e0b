import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import ts from 'typescript';

const SRC = resolve(__dirname, '../src');

/** What each room may import: imports run downward only, and siblings do not import one another. */
const LOWEST = ['domain', 'config'];
const MIDDLE = [...LOWEST, 'database', 'http', 'bank'];
const PEOPLE = [...MIDDLE, 'identity', 'audit'];
const RECORD = [...PEOPLE, 'employer', 'pay-run'];
const PIPELINE = [
  ...RECORD,
  'pay-file',
  'submission',
  'restore',
  'attention',
  'settlement',
  'reconciliation',
];
const MAY_IMPORT: Record<string, readonly string[]> = {
  domain: [],
  config: ['domain'],
  database: LOWEST,
  http: LOWEST,
  bank: LOWEST,
  identity: [...LOWEST, 'database', 'http'],
  audit: [...LOWEST, 'database', 'http'],
  employer: PEOPLE,
  'pay-run': [...PEOPLE, 'employer'],
  'pay-file': RECORD.filter((room) => room !== 'bank'),
  submission: RECORD,
  restore: [...RECORD, 'submission'],
  attention: [...RECORD, 'submission', 'restore', 'settlement'],
  settlement: RECORD,
  reconciliation: RECORD,
  schedule: PIPELINE,
  cli: [...PIPELINE, 'schedule', 'bank-sandbox', '.'],
  'bank-sandbox': ['bank/types'],
  '.': [...PIPELINE, 'schedule'],
};

interface Import {
  from: string;
  to: string;
}

function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name));
}

function importsOf(file: string): string[] {
  const { importedFiles } = ts.preProcessFile(readFileSync(file, 'utf8'), true, true);
  return importedFiles.map((one) => one.fileName);
}

const IMPORTS: Import[] = filesOf(SRC).flatMap((file) =>
  importsOf(file)
    .filter((name) => name.startsWith('.'))
    .map((name) => ({ from: relative(SRC, file), to: relative(SRC, resolve(dirname(file), name)) })),
);

function roomOf(path: string): string {
  const [first = '', ...rest] = path.split(sep);
  return rest.length === 0 ? '.' : first;
}

function allowed({ from, to }: Import): boolean {
  const room = roomOf(from);
  const target = roomOf(to);
  if (room === target) return true;
  const table = MAY_IMPORT[room] ?? [];
  return table.includes(target) || table.includes(to.split(sep).join('/'));
}

describe('the house', () => {
  it('has a line in the import table for every room', () => {
    const rooms = new Set(filesOf(SRC).map((file) => roomOf(relative(SRC, file))));
    expect([...rooms].filter((room) => !(room in MAY_IMPORT))).toEqual([]);
  });

  it('imports downward only', () => {
    const broken = IMPORTS.filter((one) => !allowed(one)).map(({ from, to }) => `${from} -> ${to}`);
    expect(broken).toEqual([]);
  });

  it('has no circle', () => {
    const edges = new Map<string, string[]>();
    for (const { from, to } of IMPORTS) {
      const key = from.replace(/\.ts$/, '');
      edges.set(key, [...(edges.get(key) ?? []), to]);
    }
    const done = new Set<string>();
    const circles: string[] = [];
    const visit = (file: string, path: readonly string[]): void => {
      if (path.includes(file)) {
        circles.push([...path.slice(path.indexOf(file)), file].join(' -> '));
        return;
      }
      if (done.has(file)) return;
      for (const next of edges.get(file) ?? []) visit(next, [...path, file]);
      done.add(file);
    };
    for (const file of edges.keys()) visit(file, []);
    expect(circles).toEqual([]);
  });

  it('keeps the domain pure: nothing from outside it', () => {
    const outside = filesOf(join(SRC, 'domain')).flatMap((file) =>
      importsOf(file).filter((name) => !name.startsWith('.')),
    );
    expect(outside).toEqual([]);
  });

  it('never uses a forward reference, an escape from the type checker or a lazy import', () => {
    const escapes =
      /forwardRef|@ts-ignore|@ts-expect-error|eslint-disable|\bas any\b|await import\(|= require\(/;
    const found = filesOf(SRC).filter((file) => escapes.test(readFileSync(file, 'utf8')));
    expect(found.map((file) => relative(SRC, file))).toEqual([]);
  });

  it('lets nothing but the command line and the sandbox itself import the sandbox', () => {
    const users = IMPORTS.filter(({ to }) => roomOf(to) === 'bank-sandbox' || to === 'bank-sandbox');
    const rooms = new Set(users.map(({ from }) => roomOf(from)));
    expect([...rooms].filter((room) => !['bank-sandbox', 'cli'].includes(room))).toEqual([]);
  });
});
