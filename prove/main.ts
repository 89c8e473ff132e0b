import 'reflect-metadata';
import { type Asked, BadArguments, readArguments, USAGE } from './arguments';
import { type Guard, GUARDS } from './guards';
import { breaksRule, findingOf, type Played, playSeeds } from './model/play';
import { simulate } from './model/simulate';
import { proveFaults } from './real/faults';
import { proveMix } from './real/mix';
import { startServer } from './real/server';
import { proveWithoutUnique } from './real/without-unique';
import { Report } from './report';
import { wordsOf } from './table';

async function main(): Promise<void> {
  const asked = readArguments(process.argv.slice(2));
  // Until it has come to its end: a proof that broke off proved nothing.
  process.exitCode = 1;
  const report = new Report((text) => process.stdout.write(text));
  if (asked.replay?.part === 'model') return replayModel(asked.replay.seed, asked.without, report);
  if (asked.without) return proveWithout(asked, asked.without, report);
  if (asked.parts.includes('model') && !asked.replay) proveModel(asked, report);
  const real = asked.parts.includes('faults') || asked.parts.includes('mix');
  if (real || asked.replay) await proveReal(asked, report);
  conclude(report);
}

function proveModel({ seed, seeds }: Asked, report: Report): void {
  const played = playSeeds(seed, seeds);
  tell(played, report);
  for (const { seed: failing, finding } of played.broken) {
    const again = `npm run -s prove -- --replay model:${failing}`;
    report.breakage(`seed ${failing} of the model: ${wordsOf(finding)}`, again);
  }
}

async function proveReal(asked: Asked, report: Report): Promise<void> {
  const server = await startServer();
  try {
    if (asked.replay) return await proveMix(report, asked.replay.seed, 0, 1);
    if (asked.parts.includes('faults')) await proveFaults(report, asked);
    if (asked.parts.includes('mix')) await proveMix(report, asked.seed, asked.minutes);
  } finally {
    await server.stop();
  }
}

function tell({ lines, strayed, perSecond }: Played, report: Report): void {
  for (const line of lines) report.line(line);
  const counts = Object.entries(strayed).map(([outside, seeds]) => `${outside} ${seeds}`);
  report.say(`seeds in which what is not assumed came about: ${counts.join(', ')}`);
  report.say(`the model played ${Math.round(perSecond)} seeds a second`);
}

function replayModel(seed: number, without: Guard | undefined, report: Report): void {
  const verdict = simulate(seed, without);
  const words = wordsOf(findingOf(verdict)) || 'nothing is wrong';
  // Outside the assumptions somebody may be paid twice, as long as it is told.
  if (!breaksRule(verdict)) process.exitCode = 0;
  const raised = [...verdict.raised].join(', ') || 'none';
  report.say(
    `seed ${seed} of the model, ${verdict.outside ?? 'inside'}: ${words}; attention raised: ${raised}`,
  );
}

/** With a guard taken away the short run must find what it prevents. */
async function proveWithout({ seed, seeds }: Asked, guard: Guard, report: Report): Promise<void> {
  report.say(`without ${guard}: ${GUARDS[guard]}`);
  const played = playSeeds(seed, seeds, guard);
  tell(played, report);
  const [first] = played.broken;
  const again = `npm run -s prove -- --without ${guard}`;
  if (first) {
    report.say(`found at seed ${first.seed} of the model: ${wordsOf(first.finding)}`);
    report.say(`        again: ${again} --replay model:${first.seed}`);
  } else report.breakage(`the model found nothing without ${guard}`, again);
  if (guard === 'unique') await proveUnique(report);
  if (report.ok) process.exitCode = 0;
}

async function proveUnique(report: Report): Promise<void> {
  const server = await startServer();
  try {
    if (await proveWithoutUnique(report)) return;
    report.breakage('dropping the index changed nothing', 'npm run -s prove -- --without unique');
  } finally {
    await server.stop();
  }
}

function conclude(report: Report): void {
  if (report.ok) {
    process.exitCode = 0;
    return report.say('Nothing broke.');
  }
  report.say(`\n${report.breakages.length} broke:\n${report.breakages.join('\n')}`);
}

main().catch((error: unknown) => {
  const bad = error instanceof BadArguments;
  process.stderr.write(
    bad ? `${error.message}\n${USAGE}\n` : `${error instanceof Error ? error.stack : String(error)}\n`,
  );
  process.exitCode = bad ? 64 : 1;
});
