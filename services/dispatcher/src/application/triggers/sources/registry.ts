import type { WebhookSourceName } from '@lemniscate/shared/api/trigger.ts';
import { github } from './github.ts';
import { gitlab } from './gitlab.ts';
import { slack } from './slack.ts';
import type { WebhookSource } from './webhook-source.ts';

/** Every system whose webhooks are taken. */
export const sources: Readonly<Record<WebhookSourceName, WebhookSource>> = {
  github,
  gitlab,
  slack,
};
