import { idAt } from '../../application/triggers/sources/members.ts';
import type { NoticeOutcome, Notifier } from '../../application/ports/notifier.ts';
import { carriedComment, commentMarkdown } from './carried-comment.ts';
import type { CarriedComment } from './carried-comment.ts';
import { withoutGone } from './github.ts';
import { notTold, readJson } from './post-outside.ts';
import type { PostOutside } from './post-outside.ts';

// Paths and members: docs.gitlab.com/api, "Notes" and "Discussions".
const thing = /^([\w./-]{1,400})([#!])(\d{1,12})$/;

function pathOf({ key, thread }: CarriedComment): string | null {
  const [, project = '', kind = '', number = ''] = thing.exec(key) ?? [];
  if (number === '') return null;
  const holder = kind === '#' ? 'issues' : 'merge_requests';
  const base = `/api/v4/projects/${encodeURIComponent(project)}/${holder}/${number}`;
  return /^\w{1,100}$/.test(thread) ? `${base}/discussions/${thread}/notes` : `${base}/notes`;
}

/** Carries agents' comments to issues and merge requests of GitLab, into the thread that they answer. */
export function createGitlabNotifier(post: PostOutside): Notifier {
  return {
    kind: 'gitlab',
    send: async (notice, place, token, _at, signal): Promise<NoticeOutcome> => {
      const comment = carriedComment(notice);
      const path = comment === null ? null : pathOf(comment);
      if (place.kind !== 'gitlab' || comment === null || path === null) return notTold;
      const url = new URL(place.url.replace(/\/$/, '') + path);
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const body = JSON.stringify({ body: commentMarkdown(comment) });
      return withoutGone(
        await post(url.href, headers, body, signal, async (answer) => {
          const id = idAt(await readJson(answer), 'id');
          const ok = { ok: true, status: answer.status } as const;
          return id === '' ? ok : { ...ok, posted: { key: `note:${id}`, url: null } };
        }),
      );
    },
    close: () => Promise.resolve(),
  };
}
