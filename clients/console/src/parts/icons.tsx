import type { ReactNode } from 'react';

/** Line icons on a grid of 16, drawn here: a library of them would be larger than the rest of the console. */
const paths = {
  sessions: 'M2.5 4h11M2.5 8h11M2.5 12h7',
  inbox: 'M2 9.500h3.500l1 2h3l1-2H14M2 9.500v3.500h12V9.500M2 9.500L4 3h8l2 6.500',
  objects: 'M3 2.500h10v11H3zM5.500 6h5M5.500 8.500h5M5.500 11h3',
  agent: 'M4 6h8v6.500H4zM8 6V3M8 3h.01M6.300 9h.01M9.700 9h.01M2.500 8.500v2M13.500 8.500v2',
  trigger: 'M9 1.800L4 9h4l-1 5.200L12 7H8z',
  people:
    'M6 7.500a2.500 2.500 0 100-5 2.500 2.500 0 000 5zM1.800 13.500c0-2.500 1.800-4 4.200-4s4.200 1.500 4.200 4M11 7a2 2 0 100-4M11.800 9.700c1.500.4 2.400 1.700 2.400 3.800',
  box: 'M2.500 5L8 2l5.500 3v6L8 14l-5.500-3zM2.500 5L8 8l5.500-3M8 8v6',
  fleet: 'M2.500 3h11v4h-11zM2.500 9h11v4h-11zM5 5h.01M5 11h.01',
  queue: 'M3 3h10M3 6.500h7M3 10h10M3 13.500h5',
  pulse: 'M1.500 8.500h3l2-5.500 3 10 2-4.500h3',
  costs: 'M2 13.500h12M4 13V8.500M8 13V3M12 13V6',
  audit:
    'M8 1.800l5 2v4c0 3.200-2.200 5.500-5 6.500-2.800-1-5-3.300-5-6.500v-4zM5.800 7.800l1.600 1.700 2.900-3.200',
  policy: 'M4 2h6l2.500 2.500V14H4zM6 6h4M6 8.500h4M6 11h2.500',
  revoke: 'M8 14A6 6 0 108 2a6 6 0 000 12zM4 12l8-8',
  exporters: 'M3 8h8M8 4.500L11.500 8 8 11.500M13.500 3v10',
  search: 'M7 12A5 5 0 107 2a5 5 0 000 10zM10.700 10.700L14 14',
  plus: 'M8 3v10M3 8h10',
  check: 'M3 8.500l3.200 3.200L13 4.800',
  cross: 'M4 4l8 8M12 4l-8 8',
  stop: 'M4.500 4.500h7v7h-7z',
  pause: 'M5.500 4v8M10.500 4v8',
  clock: 'M8 14A6 6 0 108 2a6 6 0 000 12zM8 4.800V8l2.200 1.500',
  play: 'M5 3.500l7.500 4.500L5 12.500z',
  terminal: 'M2.500 3h11v10h-11zM5 6l2 2-2 2M8.500 10.500h2.500',
  file: 'M4 2h5l3 3v9H4zM9 2v3h3',
  pencil: 'M3 13l.6-2.600L11 3l2 2-7.400 7.400z',
  flag: 'M4 14V2.500M4 3h8l-1.800 2.800L12 8.500H4',
  spark: 'M8 2l1.400 4.600L14 8l-4.600 1.400L8 14l-1.400-4.600L2 8l4.600-1.400z',
  message: 'M2.500 3h11v8h-6l-3 2.500V11h-2z',
  dot: 'M8 9.500a1.500 1.500 0 100-3 1.500 1.500 0 000 3z',
  ring: 'M8 12a4 4 0 100-8 4 4 0 000 8z',
  warning: 'M8 2.500l6 10.500H2zM8 6.500v3M8 11.300h.01',
  lock: 'M4 7.500h8V14H4zM5.500 7.500V5a2.500 2.500 0 015 0v2.500',
  moon: 'M13 9.500A5.500 5.500 0 116.500 3a4.500 4.500 0 006.500 6.500z',
  sun: 'M8 11a3 3 0 100-6 3 3 0 000 6zM8 1.500v1.500M8 13v1.500M1.500 8H3M13 8h1.500M3.400 3.400l1 1M11.600 11.600l1 1M3.400 12.600l1-1M11.600 4.400l1-1',
  exit: 'M9.500 2.500h-6v11h6M6.500 8h7M11 5.500L13.500 8 11 10.500',
  server: 'M2.500 3h11v4h-11zM2.500 9h11v4h-11zM5 5h.01M5 11h.01',
  diff: 'M8 2.500v6M5 5.500h6M5 13h6',
  download: 'M8 2.500v7.500M5 7.500L8 10.500l3-3M3 13.500h10',
  chevron: 'M6 4l4 4-4 4',
} as const;

export type IconName = keyof typeof paths;

export function Icon({
  name,
  size = 16,
  className,
}: {
  name: IconName;
  size?: number;
  className?: string;
}): ReactNode {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      className={className}
    >
      <path d={paths[name]} />
    </svg>
  );
}
