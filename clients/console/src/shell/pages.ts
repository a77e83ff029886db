import type { IconName } from '../parts/icons.tsx';

export interface PageLink {
  readonly path: string;
  readonly title: string;
  readonly icon: IconName;
  /** Two keys after each other that lead there. */
  readonly keys: string;
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
      { path: '/objects', title: 'Objects', icon: 'objects', keys: 'g o' },
      { path: '/agents', title: 'Agents', icon: 'agent', keys: 'g n' },
      { path: '/triggers', title: 'Triggers', icon: 'trigger', keys: 'g t' },
    ],
  },
  {
    title: 'Operations',
    pages: [
      { path: '/fleet', title: 'Fleet', icon: 'fleet', keys: 'g f' },
      { path: '/environments', title: 'Environments', icon: 'box', keys: 'g v' },
    ],
  },
  {
    title: 'Costs',
    pages: [{ path: '/costs', title: 'Costs', icon: 'costs', keys: 'g c' }],
  },
  {
    title: 'Security',
    pages: [
      { path: '/audit', title: 'Audit log', icon: 'audit', keys: 'g a' },
      { path: '/exporters', title: 'Exporters', icon: 'exporters', keys: 'g e' },
      { path: '/revocations', title: 'Revocations', icon: 'revoke', keys: 'g r' },
      { path: '/access', title: 'Access', icon: 'people', keys: 'g m' },
      { path: '/policies', title: 'Policies', icon: 'policy', keys: 'g p' },
    ],
  },
];
