import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CHECKOUT, compiled } from './compiled';

const STRIP = join(CHECKOUT, '.ci/strip-crash-points.mjs');

function strip(folder: string): { status: number | null; stderr: string } {
  return spawnSync(process.execPath, [STRIP, folder], { encoding: 'utf8' });
}

function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' });
}

describe('the production build', () => {
  const folders: string[] = [];
  const tree = (text: string): string => {
    const folder = mkdtempSync(join(tmpdir(), 'strip-'));
    folders.push(folder);
    mkdirSync(join(folder, 'src/config'), { recursive: true });
    writeFileSync(join(folder, 'src/config/crash-point.js'), 'exports.crashPoint = crashPoint;');
    writeFileSync(join(folder, 'src/config/crash-point.js.map'), '{}');
    writeFileSync(join(folder, 'src/work.js'), text);
    return folder;
  };
  afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true })));

  it('has no crash point left anywhere', () => {
    const folder = compiled();
    const files = filesOf(folder).filter((name) => /\.(js|map)$/.test(name));
    const mentions = files.filter((name) =>
      /crash[-_]?point|PAYRUN_CRASH/i.test(name + readFileSync(join(folder, name), 'utf8')),
    );
    expect(files.length).toBeGreaterThan(100);
    expect(mentions).toEqual([]);
  });

  it('strips what the build script writes', () => {
    const { scripts } = JSON.parse(readFileSync(join(CHECKOUT, 'package.json'), 'utf8'));
    expect(scripts.build).toMatch(/^nest build && node \.ci\/strip-crash-points\.mjs dist\b/);
  });

  it('takes calls out and keeps the lines around them where they were', () => {
    const folder = tree(
      [
        'const crash_point_1 = require("../config/crash-point");',
        'before();',
        "    (0, crash_point_1.crashPoint)('submit.sent');",
        "work.then(() => (0, crash_point_1.crashPoint)('build.verified'));",
        'after();',
      ].join('\n'),
    );
    expect(strip(folder).status).toBe(0);
    const lines = readFileSync(join(folder, 'src/work.js'), 'utf8').split('\n');
    expect(lines).toEqual(['', 'before();', '', 'work.then(() => undefined);', 'after();']);
    expect(filesOf(join(folder, 'src/config'))).toEqual([]);
  });

  it.each([
    ['a call by a computed name', '(0, crash_point_1.crashPoint)(name);'],
    ['the function handed on', 'work.then(crash_point_1.crashPoint);'],
    ['the environment variable read elsewhere', 'process.env.PAYRUN_CRASH_AT;'],
  ])('fails on %s', (_, text) => {
    const { status, stderr } = strip(tree(text));
    expect(status).toBe(1);
    expect(stderr).toContain('work.js');
  });
});
