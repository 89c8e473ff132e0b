// The lint beside all else: each lane keeps about one core busy.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';

const LANES = [['lint'], ['format:check', 'types', 'build:both']];

/** Whether every script of a lane ended well; none is begun after one that did not. */
async function pass(scripts) {
  for (const script of scripts) {
    const [code] = await once(spawn('npm', ['run', '-s', script], { stdio: 'inherit' }), 'exit');
    if (code !== 0) return false;
  }
  return true;
}

const passed = await Promise.all(LANES.map(pass));
process.exitCode = passed.every(Boolean) ? 0 : 1;
