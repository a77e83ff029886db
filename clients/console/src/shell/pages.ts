import type { Role } from '@lemniscate/shared/identity/roles.ts';
import type { IconName } from '../parts/icons.tsx';

export interface PageLink {
  readonly path: string;
  readonly title: string;
  readonly icon: IconName;
  /** Two keys after each other that lead there. */
  readonly keys: string;
  /** Whose work it is; nobody is kept from looking, and the API says what is not theirs. */
  readonly roles?: readonly Role[];
}

export interface PageGroup {
  readonly title: string;
  readonly pages: readonly PageLink[];
}

/** Every page that one can go to, in the order of the navigation. */
export const pageGroups: readonly PageGroup[] = [
  {
    title: 'Work',
    pages: [
      { path: '/', title: 'Sessions', icon: 'sessions', keys: 'g s' },
      { path: '/inbox', title: 'Inbox', icon: 'inbox', keys: 'g i' },
    ],
  },
  {
    title: 'Operations',
    pages: [
      { path: '/fleet', title: 'Fleet', icon: 'fleet', keys: 'g f', roles: ['operator', 'administrator'] },
    ],
  },
  {
    title: 'Costs',
    pages: [
      { path: '/costs', title: 'Costs', icon: 'costs', keys: 'g c', roles: ['finops', 'administrator'] },
    ],
  },
];
