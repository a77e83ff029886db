const money = new Intl.NumberFormat('en-US', {
  style: 'currency',
  currency: 'USD',
  maximumFractionDigits: 2,
});
const smallMoney = new Intl.NumberFormat('en-US', {
  style: 'currency',
  currency: 'USD',
  minimumFractionDigits: 4,
  maximumFractionDigits: 4,
});
const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });
const whole = new Intl.NumberFormat('en-US');
const dayTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });
const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });

/** Dollars of an exact decimal text; below ten cents with four digits, since a session often costs less than one. */
export function usd(text: string): string {
  const value = Number(text);
  return value !== 0 && Math.abs(value) < 0.1 ? smallMoney.format(value) : money.format(value);
}

/** 12,345 as 12.3K. */
export function short(count: number): string {
  return compact.format(count);
}

export function count(value: number): string {
  return whole.format(value);
}

/** "1 file", "2 files". */
export function plural(value: number, word: string): string {
  return `${count(value)} ${word}${value === 1 ? '' : 's'}`;
}

/** A span as its two largest units: 840 ms, 12.4 s, 3 m 20 s, 2 h 5 m, 3 d 4 h. */
export function span(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const units = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['m', 60_000],
    ['s', 1_000],
  ] as const;
  const first = units.findIndex(([, size]) => ms >= size);
  let rest = ms;
  return units
    .slice(first, first + 2)
    .map(([name, size]) => {
      const amount = Math.floor(rest / size);
      rest -= amount * size;
      return `${amount} ${name}`;
    })
    .filter((part, index) => index === 0 || !part.startsWith('0 '))
    .join(' ');
}

/** How long ago, in one unit. */
export function ago(at: string, now: number): string {
  const ms = Math.max(0, now - Date.parse(at));
  if (ms < 5_000) return 'now';
  if (ms < 60_000) return `${Math.floor(ms / 1_000)}s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)}m`;
  if (ms < 86_400_000) return `${Math.floor(ms / 3_600_000)}h`;
  return `${Math.floor(ms / 86_400_000)}d`;
}

/** The whole moment, in the reader's time zone. */
export function moment(at: string): string {
  return dayTime.format(new Date(at));
}

export function timeOfDay(at: string): string {
  return clock.format(new Date(at));
}

export function bytes(size: number): string {
  if (size < 1024) return `${size} B`;
  if (size < 1024 ** 2) return `${(size / 1024).toFixed(1)} KiB`;
  return `${(size / 1024 ** 2).toFixed(1)} MiB`;
}

/** Beginning and end of an id or digest, which is what people compare. */
export function shortId(id: string): string {
  return id.length <= 14 ? id : `${id.slice(0, 6)}…${id.slice(-5)}`;
}

export function percent(share: number): string {
  return `${(share * 100).toFixed(share < 0.1 ? 1 : 0)}%`;
}
