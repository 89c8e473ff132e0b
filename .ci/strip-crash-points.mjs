// Takes the crash points out of a compiled tree: `node .ci/strip-crash-points.mjs dist`. Lines keep their numbers, so
// that source maps stay right. Fails when a mention is left: a kill switch for tests must not ship.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';

const NAME = String.raw`'[a-z-]+\.[a-z-]+'`;
const IMPORT = /^const crash_point_\d+ = require\("[./a-z-]*crash-point"\);$/gm;
const STATEMENT = new RegExp(String.raw`^[ \t]*\(0, crash_point_\d+\.crashPoint\)\(${NAME}\);$`, 'gm');
const EXPRESSION = new RegExp(String.raw`\(0, crash_point_\d+\.crashPoint\)\(${NAME}\)`, 'g');
const MENTION = /crash[-_]?point|PAYRUN_CRASH/i;

const [root] = process.argv.slice(2);
if (root === undefined) throw new Error('name the compiled tree, such as dist');

const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).map((name) => join(root, name));
const left = [];
for (const file of files) {
  if (/crash-point\.js(\.map)?$/.test(file)) rmSync(file);
  else if (/\.(js|map)$/.test(file)) {
    const text = readFileSync(file, 'utf8');
    const stripped = text.replace(IMPORT, '').replace(STATEMENT, '').replace(EXPRESSION, 'undefined');
    if (MENTION.test(stripped)) left.push(file);
    else if (stripped !== text) writeFileSync(file, stripped);
  }
}
if (left.length > 0) {
  process.stderr.write(`Crash points are left in ${left.join(', ')}: call them by a literal name.\n`);
  process.exitCode = 1;
}
