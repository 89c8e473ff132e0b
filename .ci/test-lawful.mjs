// The flow suite once more, a twentieth of it against each of two other lawful banks. `FLOW_BANK=random npm run test:flow` draws one.
import { spawnSync } from 'node:child_process';
import process from 'node:process';

const BANKS = ['in-euros', 'tight-lipped'];
for (const [n, bank] of BANKS.entries()) {
  const shard = `${n + 1}/20`;
  process.stdout.write(`FLOW_BANK=${bank} npm run test:flow -- --shard=${shard}\n`);
  const env = { ...process.env, FLOW_BANK: bank };
  const { status } = spawnSync('npm', ['run', '-s', 'test:flow', '--', `--shard=${shard}`], {
    env,
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
}
