import type { NoticeType } from '@lemniscate/shared/api/notify.ts';
import type { WebhookSourceName } from '@lemniscate/shared/api/trigger.ts';

// Written out: the schemas that hold these lists would bring their library along, which the page's policy stops when it
// looks whether it may make code of text.

/** Systems whose webhooks are taken. */
export const webhookSources = ['github', 'gitlab', 'slack'] as const satisfies readonly WebhookSourceName[];

/** What can be told to the outside. */
export const noticeTypes = [
  'session.state_changed',
  'approval.wanted',
  'budget.warning',
  'object.changed',
  'object.commented',
] as const satisfies readonly NoticeType[];
