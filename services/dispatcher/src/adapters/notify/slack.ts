import type { NoticeOutcome, Notifier } from '../../application/ports/notifier.ts';
import { noticeText } from './notice-text.ts';
import type { PostOutside } from './post-outside.ts';

/** In Slack's own mark-up these three begin a link, a mention or an entity. */
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** A text that can become no link, mention or command of Slack, within a length. */
export const slackText = (text: string, most: number): string =>
  escaped(text.slice(0, most).toWellFormed()).slice(0, most);

/** Tells a channel of Slack by its incoming webhook, whose address is the secret. */
export function createSlackNotifier(post: PostOutside): Notifier {
  return {
    kind: 'slack',
    send: async (notice, _place, secret, _at, signal): Promise<NoticeOutcome> => {
      const { subject, text } = noticeText(notice);
      const body = JSON.stringify({ text: slackText(`${subject}\n${text}`, 3_000) });
      return post(secret, { 'content-type': 'application/json' }, body, signal);
    },
    close: () => Promise.resolve(),
  };
}
