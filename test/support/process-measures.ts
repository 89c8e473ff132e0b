/**
 * A service measures its process for as long as that lives, and a jest worker sees hundreds of services come and go: what
 * they measure with would keep each of them, and the modules of each suite, in memory and at work. They share one.
 */
const hooks = process.getBuiltinModule('node:perf_hooks');
const shared = Symbol.for('payrun.test.process-measures');

if (!Object.hasOwn(hooks, shared)) {
  const delay = hooks.monitorEventLoopDelay();
  class Blind extends hooks.PerformanceObserver {
    override observe(): void {
      // Nothing is told to it.
    }
  }
  Object.assign(hooks, {
    [shared]: true,
    monitorEventLoopDelay: () => delay,
    PerformanceObserver: Blind,
  });
}
