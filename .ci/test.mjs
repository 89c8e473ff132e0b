// Every suite, but of the flow suites and those that took 25 seconds or more on two cores one part: HEAD draws it, TEST_PART=n
// chooses it, --all runs every one. Then a little of the flow suite against another lawful bank, or both; `FLOW_BANK=random npm run
// test:flow` draws one.
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import process from 'node:process';

const FLOW = 'test/flow';
const LONG = JSON.parse(readFileSync('.ci/long-suites.json', 'utf8'));
const PARTS = 16;
const BANKS = ['in-euros', 'tight-lipped'];
const SHARDS = 60;

/** The parts of these suites, about equally long: the long ones are dealt out first, there and back. */
function parts() {
  const flow = readdirSync(FLOW).map((name) => `${FLOW}/${name}`);
  const dealt = Array.from({ length: PARTS }, () => []);
  for (const [n, path] of [...longestFirst(LONG), ...longestFirst(flow)].entries()) {
    const along = n % (2 * PARTS);
    dealt[along < PARTS ? along : 2 * PARTS - 1 - along].push(path);
  }
  return dealt;
}

function longestFirst(paths) {
  const sized = paths.map((path) => ({ path, bytes: statSync(path).size }));
  sized.sort((a, b) => b.bytes - a.bytes || (a.path < b.path ? -1 : 1));
  return sized.map(({ path }) => path);
}

/** Counted from 1. Without a repository the first. */
function chosenPart() {
  const asked = process.env.TEST_PART;
  if (asked !== undefined) {
    if (/^\d+$/.test(asked) && asked >= 1 && asked <= PARTS) return Number(asked);
    process.stderr.write(`TEST_PART is one of 1 to ${PARTS}, not ${asked}\n`);
    process.exit(2);
  }
  const head = spawnSync('git', ['rev-parse', '--short=7', 'HEAD'], { encoding: 'utf8' });
  return head.status === 0 ? 1 + (Number.parseInt(head.stdout.slice(0, 7), 16) % PARTS) : 1;
}

function run(command, args, env = {}) {
  const { status } = spawnSync(command, args, { env: { ...process.env, ...env }, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

const ignored = ['/node_modules/'];
const banks = new Map(BANKS.map((bank, n) => [bank, `--shard=${n + 1}/${SHARDS}`]));
if (!process.argv.includes('--all')) {
  const part = chosenPart();
  banks.delete(BANKS[part % BANKS.length]);
  process.stdout.write(
    `Long suites: part ${part} of ${PARTS} (TEST_PART=1 to ${PARTS} npm test; every one: npm run test:all)\n`,
  );
  const leftOut = parts().flatMap((paths, n) => (n === part - 1 ? [] : paths));
  ignored.push(...leftOut.map((path) => `/${path.replaceAll('.', '\\.')}$`));
}
run('npx', ['jest', '--testPathIgnorePatterns', ...ignored]);
for (const [bank, shard] of banks) {
  process.stdout.write(`FLOW_BANK=${bank} npm run test:flow -- ${shard}\n`);
  run('npm', ['run', '-s', 'test:flow', '--', shard], { FLOW_BANK: bank });
}
