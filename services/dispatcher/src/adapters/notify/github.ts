import { idAt, urlAt } from '../../application/triggers/sources/members.ts';
import type { NoticeOutcome, Notifier } from '../../application/ports/notifier.ts';
import { carriedComment, commentMarkdown } from './carried-comment.ts';
import type { CarriedComment } from './carried-comment.ts';
import { notTold, readJson } from './post-outside.ts';
import type { PostOutside } from './post-outside.ts';

// Paths and members: docs.github.com/rest, "Issue comments", "Create a reply for a review comment", "Rate limits".
const thing = /^([\w.-]+)\/([\w.-]+)#(\d{1,12})$/;

/** Where the comment belongs: the thread of a review, else the issue or pull request; with the webhook's event for it. */
function placeOf({ key, thread }: CarriedComment): { path: string; event: string } | null {
  const [, owner = '', repository = '', number = ''] = thing.exec(key) ?? [];
  if (number === '') return null;
  const base = `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(repository)}`;
  return /^\d{1,20}$/.test(thread)
    ? { path: `${base}/pulls/${number}/comments/${thread}/replies`, event: 'pull_request_review_comment' }
    : { path: `${base}/issues/${number}/comments`, event: 'issue_comment' };
}

/** Carries agents' comments to issues and pull requests of GitHub. */
export function createGithubNotifier(post: PostOutside): Notifier {
  return {
    kind: 'github',
    send: async (notice, place, token, _at, signal): Promise<NoticeOutcome> => {
      const comment = carriedComment(notice);
      const where = comment === null ? null : placeOf(comment);
      if (place.kind !== 'github' || comment === null || where === null) return notTold;
      const url = new URL(place.url.replace(/\/$/, '') + where.path);
      const headers = {
        authorization: `Bearer ${token}`,
        accept: 'application/vnd.github+json',
        'content-type': 'application/json',
        'x-github-api-version': '2022-11-28',
      };
      const body = JSON.stringify({ body: commentMarkdown(comment) });
      return withoutGone(
        await post(url.href, headers, body, signal, async (answer) => {
          const posted = await readJson(answer);
          const [id, shown] = [idAt(posted, 'id'), urlAt(posted, 'html_url')];
          const ok = { ok: true, status: answer.status } as const;
          return id === '' ? ok : { ...ok, posted: { key: `${where.event}:${id}`, url: shown } };
        }),
      );
    },
    close: () => Promise.resolve(),
  };
}

/** A repository without issues answers 410 for itself; it does not speak for the whole place. */
export function withoutGone(outcome: NoticeOutcome): NoticeOutcome {
  if (outcome.ok) return outcome;
  const { gone: _, ...rest } = outcome;
  return rest;
}
