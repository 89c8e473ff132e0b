import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Tester } from './client';
import { end, startProcess } from './process';

/** Above every process id of any system. */
const NOBODYS_PID = 2 ** 30;

let folder: string;
let stateFile: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bank-state-'));
  stateFile = join(folder, 'bank.journal');
});
afterEach(() => rmSync(folder, { recursive: true }));

const refusal = (pid: number | undefined): string => `${stateFile} is in use by process ${pid}`;

describe('a state file', () => {
  it('belongs to one bank of a process', async () => {
    const bank = await Tester.start({ stateFile });
    const told = readFileSync(stateFile, 'utf8');
    await expect(Tester.start({ stateFile })).rejects.toThrow(refusal(process.pid));
    await expect(Tester.start({ stateFile, fresh: true })).rejects.toThrow(refusal(process.pid));
    expect(readFileSync(stateFile, 'utf8')).toBe(told);
    await bank.pay([{}]);
    await bank.close();
    expect(existsSync(`${stateFile}.lock`)).toBe(false);
    const next = await Tester.start({ stateFile });
    expect((await next.ledger()).instructions).toHaveLength(1);
    await next.close();
  });

  it('is the same by another name', async () => {
    const bank = await Tester.start({ stateFile });
    const other = join(folder, 'other.journal');
    symlinkSync(stateFile, other);
    await expect(Tester.start({ stateFile: other })).rejects.toThrow('is in use');
    await bank.close();
  });

  it('belongs to one process: the second is refused in one line and changes nothing', async () => {
    const first = await startProcess({ SANDBOX_STATE_FILE: stateFile });
    const second = startProcess({ SANDBOX_STATE_FILE: stateFile });
    await expect(second).rejects.toThrow(/ended with 1: [^\n]+\n$/);
    await expect(second).rejects.toThrow(refusal(first.child.pid));
    await expect(Tester.start({ stateFile })).rejects.toThrow(refusal(first.child.pid));
    await new Tester(first.url).pay([{}]);
    await end(first.child, 'SIGTERM');
    expect(existsSync(`${stateFile}.lock`)).toBe(false);
    const after = await Tester.start({ stateFile });
    expect((await after.ledger()).instructions).toHaveLength(1);
    await after.close();
  });

  it('is taken over from a process that was killed', async () => {
    const first = await startProcess({ SANDBOX_STATE_FILE: stateFile });
    await new Tester(first.url).pay([{}]);
    await end(first.child, 'SIGKILL');
    expect(readFileSync(`${stateFile}.lock`, 'utf8')).toContain(String(first.child.pid));
    const after = await Tester.start({ stateFile });
    expect((await after.ledger()).instructions).toHaveLength(1);
    await expect(Tester.start({ stateFile })).rejects.toThrow(refusal(process.pid));
    await after.close();
  });

  it.each([
    ['a process that is no more', `${NOBODYS_PID} 1\n`],
    // Where numbers of processes are used again.
    ['another process that had the same number', `${process.pid} 1\n`],
    ['nobody', 'nonsense'],
  ])('is taken over from %s', async (_whom, lock) => {
    writeFileSync(`${stateFile}.lock`, lock);
    const bank = await Tester.start({ stateFile });
    await expect(Tester.start({ stateFile })).rejects.toThrow(refusal(process.pid));
    await bank.close();
  });

  it('is taken over by one of many who try at once', async () => {
    writeFileSync(`${stateFile}.lock`, `${NOBODYS_PID} 1\n`);
    const started = await Promise.allSettled(
      Array.from({ length: 4 }, () => startProcess({ SANDBOX_STATE_FILE: stateFile })),
    );
    const running = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    expect(running).toHaveLength(1);
    for (const { child } of running) await end(child, 'SIGTERM');
  });

  it('is free again when the bank could not start', async () => {
    const other = await Tester.start();
    const port = Number(new URL(other.url).port);
    await expect(Tester.start({ stateFile, port })).rejects.toThrow('EADDRINUSE');
    const bank = await Tester.start({ stateFile });
    await bank.close();
    await other.close();
  });
});

describe('a damaged state file', () => {
  const lines = (): number => readFileSync(stateFile, 'utf8').split('\n').length;

  it.each([
    ['no JSON', '{"command":"add","atMs":1,"input":{"name":"Jo'],
    ['no command', '{"command":"rob","atMs":1,"input":{}}'],
    ['nothing at all', 'null'],
    ['what this bank refuses', '{"command":"submit","atMs":1,"input":{"id":9}}'],
  ])('whose line is %s is named with the line and a way to begin anew', async (_what, line) => {
    const bank = await Tester.start({ stateFile });
    await bank.close();
    const damaged = lines();
    appendFileSync(stateFile, `${line}\n`);
    const told = readFileSync(stateFile, 'utf8');
    const starting = Tester.start({ stateFile });
    await expect(starting).rejects.toThrow(`${stateFile}, line ${damaged}`);
    await expect(starting).rejects.toThrow('SANDBOX_FRESH=true');
    await expect(starting).rejects.not.toThrow('Jo');
    expect(readFileSync(stateFile, 'utf8')).toBe(told);
    const anew = await Tester.start({ stateFile, fresh: true });
    expect((await anew.ledger()).accounts).toHaveLength(3);
    await anew.close();
  });
});
