import { Injectable, OnModuleDestroy } from '@nestjs/common';

/** A load balancer asks every few seconds; a check that takes longer has failed. */
const CHECK_TIMEOUT_MS = 2_000;

/** Resolves when the thing is usable, rejects when it is not. */
export type ReadinessCheck = () => Promise<unknown>;

/** What must work before this process is given requests. The app registers its checks by name. */
@Injectable()
export class Readiness implements OnModuleDestroy {
  private readonly checks = new Map<string, ReadinessCheck>();
  private draining = false;

  register(name: string, check: ReadinessCheck): void {
    this.checks.set(name, check);
  }

  /** From the first signal on no new requests are wanted, while those in hand are finished. */
  onModuleDestroy(): void {
    this.draining = true;
  }

  /** Runs all checks at once. The result names what fails, not why: it is public. */
  async report(): Promise<{ ready: boolean; checks: Record<string, 'ok' | 'failing'> }> {
    const results = await Promise.all(
      [...this.checks].map(async ([name, check]) => [name, await passes(check)] as const),
    );
    const checks = Object.fromEntries(results.map(([name, ok]) => [name, ok ? 'ok' : 'failing'] as const));
    return { ready: !this.draining && results.every(([, ok]) => ok), checks };
  }
}

async function passes(check: ReadinessCheck): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, CHECK_TIMEOUT_MS, false);
  });
  const passed = Promise.resolve()
    .then(check)
    .then(
      () => true,
      () => false,
    );
  try {
    return await Promise.race([passed, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
