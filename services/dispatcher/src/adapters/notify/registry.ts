import type { Notifiers } from '../../application/ports/notifier.ts';
import type { GuardedFetch } from '../outgoing/guarded-fetch.ts';
import { createEmailNotifier } from './email.ts';
import type { MailServer } from './email.ts';
import { createGithubNotifier } from './github.ts';
import { createGitlabNotifier } from './gitlab.ts';
import { createPostOutside } from './post-outside.ts';
import { createSlackThreadNotifier } from './slack-thread.ts';
import { createSlackNotifier } from './slack.ts';
import { createWebhookNotifier } from './webhook.ts';

/** Every kind of place where something is told. */
export function createNotifiers(guarded: GuardedFetch, mail: MailServer | null): Notifiers {
  const post = createPostOutside(guarded);
  return {
    webhook: createWebhookNotifier(post),
    slack: createSlackNotifier(post),
    email: createEmailNotifier(mail),
    github: createGithubNotifier(post),
    gitlab: createGitlabNotifier(post),
    slack_thread: createSlackThreadNotifier(post),
  };
}
