import { readFileSync } from 'node:fs';

// Loaded before a service by the chaos harness (`node --import`): its wall clock is ahead by as many milliseconds as the
// file LEMNISCATE_CHAOS_CLOCK says, which is looked at twice a second. Monotonic clocks stay as they are.

const file = process.env['LEMNISCATE_CHAOS_CLOCK'];
const RealDate = Date;
let aheadMs = 0;

class ShiftedDate extends RealDate {
  constructor(...given: unknown[]) {
    if (given.length === 0) super(RealDate.now() + aheadMs);
    else super(...(given as [string]));
  }

  static override now(): number {
    return RealDate.now() + aheadMs;
  }
}

if (file !== undefined) {
  const look = (): void => {
    try {
      aheadMs = Number(readFileSync(file, 'utf8').trim() || '0');
    } catch {
      // No file: the clock is right.
      aheadMs = 0;
    }
  };
  look();
  setInterval(look, 500).unref();
  globalThis.Date = ShiftedDate as DateConstructor;
}
