import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { NestExpressApplication } from '@nestjs/platform-express';
import type { OpenAPIObject } from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import { AppModule } from '../src/app.module';
import { apiDocument } from '../src/http/openapi';
import { testConfig } from './http/test-app';
import { TestDatabase, testDatabase } from './support/database';
import {
  CHECKOUT,
  operationsOf,
  READMES,
  readmeTables,
  sourcesIn,
  tableIn,
  withTables,
} from './support/readme-tables';

const MAIN = 'README.md';
/** Words besides those of the generated tables: more nobody reads to its end. */
const MAX_WRITTEN_WORDS = 9_000;
/** No more in one line: a list is found one's way about in, a long paragraph is not. */
const MAX_LINE = 1_000;

/** All matches of the first group, each once. */
function named(text: string, pattern: RegExp): string[] {
  return [...new Set([...text.matchAll(pattern)].map((match) => match[1] ?? ''))];
}

function read(path: string): string {
  return readFileSync(join(CHECKOUT, path), 'utf8');
}

describe('README.md', () => {
  let database: TestDatabase;
  let app: NestExpressApplication;
  let tables: Record<string, string>;
  let calls: string[];
  let api: OpenAPIObject;
  let readme: string;
  /** It and those of the rooms, one after the other. */
  let all: string;

  beforeAll(async () => {
    database = await testDatabase();
    const config = testConfig({ DATABASE_URL: database.url });
    const tested = await Test.createTestingModule({ imports: [AppModule.with(config)] }).compile();
    app = tested.createNestApplication<NestExpressApplication>();
    api = apiDocument(app);
    calls = operationsOf(api).map(({ call }) => call);
    tables = readmeTables(api);
    if (process.env.UPDATE_README === '1') {
      for (const [path, names] of Object.entries(READMES))
        writeFileSync(join(CHECKOUT, path), withTables(read(path), names, tables));
    }
    readme = read(MAIN);
    all = Object.keys(READMES).map(read).join('\n');
  });
  afterAll(async () => {
    await app.close();
    await database.drop();
  });

  describe.each(Object.entries(READMES))('%s', (path, names) => {
    it.each(names)('has the table %s as the code makes it (UPDATE_README=1 writes it)', (name) => {
      expect(tableIn(read(path), name)).toBe(tables[name]);
    });

    it('has no other table', () => {
      expect(named(read(path), /<!-- table:([\w-]+) -->/g)).toEqual(names);
    });
  });

  it('has every table that can be made in itself or in the README of a room', () => {
    expect(Object.values(READMES).flat().sort()).toEqual(Object.keys(tables).sort());
  });

  it('names a role and a purpose for every route', () => {
    const rows = tableIn(readme, 'routes').split('\n').slice(2);
    expect(rows.length).toBe(calls.length);
    for (const row of rows) expect(row.split('|').filter((cell) => cell.trim() !== '')).toHaveLength(3);
  });

  it('can leave to the OpenAPI document what each route of the attention desk answers', () => {
    const desk = Object.entries(api.paths).filter(([path]) => path.includes('/attention'));
    const answers = desk.flatMap(([, { get, post }]) =>
      [get, post].flatMap((operation) => (operation ? [operation.responses] : [])),
    );
    expect(answers).toHaveLength(4);
    for (const answer of answers) expect(answer['200'] ?? answer['201']).toHaveProperty('content');
  });

  it('names only scripts that package.json has', () => {
    const { scripts } = JSON.parse(readFileSync(join(CHECKOUT, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    const run = named(all, /npm run ([\w:-]+)/g);
    expect(run.length).toBeGreaterThan(5);
    expect([...run, 'start', 'test'].filter((script) => !(script in scripts))).toEqual([]);
  });

  it('names only commands that the command line has', () => {
    const cli = readFileSync(join(CHECKOUT, 'src/cli/main.ts'), 'utf8');
    const commands = named(readme, /npm run payrun -- ([a-z]+ [a-z]+)/g);
    expect(commands).toContain('key issue');
    for (const command of commands) {
      const [noun, verb] = command.split(' ');
      expect(cli).toContain(`.command('${noun}')`);
      expect(cli).toContain(`.command('${verb} <`);
    }
  });

  it('names only files and folders that exist', () => {
    const paths = [
      ...named(all, /(?<![\w./-])((?:src|test|samples|migrations|bench|\.ci)\/[\w./-]*[\w/])/g),
      ...named(readme, /\]\((?!https?:|#)([^)#]+)/g),
      ...named(readme, /`(\.env\.example|\.gitattributes|package\.json|CHANGELOG\.md)`/g),
    ];
    expect(paths.length).toBeGreaterThan(10);
    expect(paths.filter((path) => !existsSync(join(CHECKOUT, path)))).toEqual([]);
  });

  it('names the samples the commands use, and where all of them are described', () => {
    const used = sourcesIn('src/cli').flatMap(({ text }) => named(text, /([a-z0-9-]+\.csv)/g));
    expect(used).toContain('payroll-250.csv');
    for (const sample of [...used.map((name) => `samples/${name}`), 'samples/README.md']) {
      expect(readme).toContain(sample);
    }
  });

  it('names only routes of the service', () => {
    const written = named(readme, /(?:^|[\s`(])((?:GET|POST|PUT|PATCH|DELETE) \/v1\/[^\s`|]+)/gm);
    expect(calls.filter((call) => !written.includes(call))).toEqual([]);
    expect(written.filter((call) => !calls.includes(call))).toEqual([]);
  });

  it('describes every setting that something reads, and no other', () => {
    const described = named(tableIn(readme, 'settings'), /^\| `(\w+)`/gm);
    const reading = sourcesIn('src').filter(({ path }) =>
      /^src\/(cli\/|bank-sandbox\/main|database\/launcher)/.test(path),
    );
    const read = reading.flatMap(({ text }) => named(text, /\b((?:DATABASE|SANDBOX)_[A-Z_]*[A-Z])\b/g));
    expect(read).toContain('DATABASE_SUPERUSER_URL');
    // Told by the process that starts the sandbox, not by a person.
    const unsaid = ['SANDBOX_PARENT_PID'];
    expect(read.filter((name) => !described.includes(name) && !unsaid.includes(name))).toEqual([]);
    const mentioned = named(all, /`((?:BANK|DATABASE|SANDBOX|FOLLOW|LEASE|MAX)_[A-Z_]*[A-Z])(?:=[^`]*)?`/g);
    const kinds = named(tableIn(readme, 'attention'), /^\| `(\w+)`/gm);
    expect(mentioned.filter((name) => !described.includes(name) && !kinds.includes(name))).toEqual([]);
  });

  it('opens with what to run, has one diagram, and can be read to its end', () => {
    const beginning = readme.split('\n').slice(0, 15).join('\n');
    expect(beginning).toContain('npm ci && npm run demo');
    expect(readme.split('```mermaid').length).toBe(2);
    const written = readme.replaceAll(/<!-- table:[\s\S]*?<!-- \/table -->/g, '');
    expect(written.split(/\s+/).length).toBeLessThanOrEqual(MAX_WRITTEN_WORDS);
    expect(written.split('\n').filter(({ length }) => length > MAX_LINE)).toEqual([]);
  });
});
