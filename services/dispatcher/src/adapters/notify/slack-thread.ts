import { textAt } from '../../application/triggers/sources/members.ts';
import type { NoticeOutcome, Notifier } from '../../application/ports/notifier.ts';
import { carriedComment } from './carried-comment.ts';
import { withoutGone } from './github.ts';
import { notTold, readJson } from './post-outside.ts';
import type { PostOutside } from './post-outside.ts';
import { slackText } from './slack.ts';

// Method and members: docs.slack.dev, "chat.postMessage".
const thread = /^T[A-Z0-9]{1,30}\/([CDG][A-Z0-9]{1,30})\/(\d{1,12}\.\d{1,10})$/;

/** Carries agents' comments into the threads of Slack that asked for them. */
export function createSlackThreadNotifier(post: PostOutside): Notifier {
  return {
    kind: 'slack_thread',
    send: async (notice, place, token, _at, signal): Promise<NoticeOutcome> => {
      const comment = carriedComment(notice);
      const [, channel, time] = thread.exec(comment?.key ?? '') ?? [];
      if (place.kind !== 'slack_thread' || comment === null || channel === undefined) return notTold;
      const url = `${place.url.replace(/\/$/, '')}/api/chat.postMessage`;
      const headers = {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json; charset=utf-8',
      };
      const text = slackText(`*${comment.by}*\n${comment.body}`, messageLength);
      const body = JSON.stringify({ channel, thread_ts: time, text, unfurl_links: false });
      return withoutGone(await post(url, headers, body, signal, takenBySlack));
    },
    close: () => Promise.resolve(),
  };
}

/** Slack cuts longer ones itself, after 40,000 characters. */
const messageLength = 38_000;

/** Slack says 200 to everything and what became of it in the body. */
async function takenBySlack(answer: Response): Promise<NoticeOutcome> {
  const said = await readJson(answer);
  if (said !== null && typeof said === 'object' && 'ok' in said && said['ok'] === true)
    return { ok: true, status: answer.status };
  const error = textAt(said, 'error')
    .replaceAll(/[^a-z_]/g, '')
    .slice(0, 60);
  return { ok: false, status: answer.status, fault: `Slack refused it: ${error || 'unreadable'}.` };
}
