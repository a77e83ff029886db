import { useQuery } from '@tanstack/react-query';
import { useMemo, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import type { DiffFile, DiffSummary } from '@lemniscate/shared/repository/diff.ts';
import { ask } from '@lemniscate/api/client.ts';
import { api } from '../api/client.ts';
import { useOneAtATime } from '../api/one-at-a-time.ts';
import { useAct, useSession } from '../api/queries.ts';
import { plural } from '../parts/format.ts';
import { Icon } from '../parts/icons.tsx';
import { Badge, Button, Empty, Loaded, Segments } from '../parts/parts.tsx';
import { useShortcuts } from '../parts/shortcuts.ts';
import { toast } from '../parts/toasts.tsx';
import { shownLine } from '../session/plain-text.ts';
import { FileDiff } from './file-diff.tsx';
import type { DiffStyle } from './file-diff.tsx';
import { readPatch } from './patch-model.ts';
import type { PatchFile } from './patch-model.ts';

type Diff = DiffSummary & {
  readonly state: 'offered' | 'accepted' | 'rejected' | 'discarded';
  readonly acceptedFiles: readonly string[] | null;
  readonly patchBase64: string | null;
};

/** The one way out of a session: what it changed, file by file, and a person's word on it. */
export function ReviewPage({ id }: { id: string }): ReactNode {
  const diff = useQuery({
    queryKey: ['diff', id],
    queryFn: () => ask(api.GET('/v1/sessions/{id}/diff', { params: { path: { id } } })),
  });
  return <Loaded query={diff}>{(loaded) => <Review id={id} diff={loaded} />}</Loaded>;
}

/** The patch's files by path; empty when the text is none that can be read. */
function parse(base64: string | null): ReadonlyMap<string, PatchFile> | null {
  if (base64 === null) return new Map();
  const text = new TextDecoder().decode(Uint8Array.fromBase64(base64));
  try {
    return new Map(readPatch(text).map((file) => [file.path, file]));
  } catch {
    // Shown as "cannot be read" with the way to get at the bytes.
    return null;
  }
}

function Review({ id, diff }: { id: string; diff: Diff }): ReactNode {
  const session = useSession(id).data;
  const [, navigate] = useLocation();
  const [style, setStyle] = useState<DiffStyle>('split');
  const [at, setAt] = useState(0);
  const [seen, setSeen] = useState<ReadonlySet<string>>(new Set());
  const [leftOut, setLeftOut] = useState<ReadonlySet<string>>(new Set());
  const scroller = useRef<HTMLDivElement>(null);
  const patch = useMemo(() => parse(diff.patchBase64), [diff.patchBase64]);
  const taken = diff.files.filter((file) => !leftOut.has(file.path));
  const flagged = taken.filter((file) => file.flags.length > 0);
  const unseen = flagged.filter((file) => !seen.has(file.path));
  const changes = [['diff', id], ['session', id], ['rows']];
  const accept = useAct(
    () =>
      ask(
        api.POST('/v1/sessions/{id}/diff/accept', {
          params: { path: { id } },
          body: {
            sha256: diff.sha256,
            flaggedFiles: flagged.map((file) => file.path),
            ...(leftOut.size === 0 ? {} : { files: taken.map((file) => file.path) }),
          },
        }),
      ),
    changes,
    (decided) =>
      toast(
        decided.state === 'offered'
          ? `Counted: ${decided.acceptedBy.length} of ${decided.people} people have accepted.`
          : 'Accepted. Take it over with: npx lemniscate apply',
      ),
  );
  const reject = useAct(
    () => ask(api.POST('/v1/sessions/{id}/diff/reject', { params: { path: { id } } })),
    changes,
    () => toast('Rejected.'),
  );
  const decide = useOneAtATime((act: typeof accept | typeof reject, options) =>
    act.mutate(undefined, options),
  );
  const offered = diff.state === 'offered';
  const busy = accept.isPending || reject.isPending;
  const mayAccept = offered && !busy && unseen.length === 0 && taken.length > 0 && patch !== null;

  const goTo = (index: number): void => {
    const next = Math.max(0, Math.min(index, diff.files.length - 1));
    setAt(next);
    scroller.current?.querySelector(`[data-file="${next}"]`)?.scrollIntoView({ block: 'start' });
  };
  const flip = (change: typeof setSeen, file: DiffFile | undefined): void => {
    if (file === undefined) return;
    change((before) => {
      const next = new Set(before);
      if (!next.delete(file.path)) next.add(file.path);
      return next;
    });
  };
  useShortcuts({
    j: () => goTo(at + 1),
    k: () => goTo(at - 1),
    u: () => setStyle((now) => (now === 'split' ? 'unified' : 'split')),
    x: () => flip(setSeen, diff.files[at]),
    o: () => offered && flip(setLeftOut, diff.files[at]),
    a: () => mayAccept && decide(accept),
    r: () => offered && !busy && decide(reject),
    Escape: () => navigate(`/sessions/${id}`),
  });

  return (
    <>
      <header className="page-head">
        <Link href={`/sessions/${id}`} className="muted truncate" style={{ maxWidth: '40%' }}>
          {shownLine(session?.instruction.split('\n')[0] ?? 'Session')}
        </Link>
        <span className="faint" aria-hidden="true">
          /
        </span>
        <h1>Review</h1>
        <span className="row num muted" style={{ gap: 8 }}>
          {plural(diff.files.length, 'file')} <span className="ins">+{diff.insertions}</span>
          <span className="del">−{diff.deletions}</span>
        </span>
        <span className="grow" />
        <Segments
          label="How lines are shown"
          value={style}
          onChange={setStyle}
          options={[
            ['split', 'Side by side'],
            ['unified', 'Unified'],
          ]}
        />
      </header>
      {patch === null ? (
        <Empty icon="warning" title="This patch cannot be read here">
          Its bytes are not in the form that git writes. Look at it with npx lemniscate diff, or reject it.
        </Empty>
      ) : diff.files.length === 0 ? (
        <Empty icon="diff" title="No file was changed">
          The session ended without touching the repository, so there is nothing to decide on.
        </Empty>
      ) : (
        <div className="review">
          <nav className="review-files" aria-label="Files">
            {diff.files.map((file, index) => (
              <FileLink
                key={file.path}
                file={file}
                current={index === at}
                seen={seen.has(file.path)}
                onClick={() => goTo(index)}
              />
            ))}
          </nav>
          {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the part that scrolls takes the focus */}
          <div className="review-diff" ref={scroller} tabIndex={0} role="region" aria-label="Changes">
            {diff.patchBase64 === null ? (
              <div className="note-box amber" style={{ marginBottom: 16 }}>
                The patch is too large for this page. Read it with <code>npx lemniscate diff {id}</code>.
              </div>
            ) : null}
            {diff.files.map((file, index) => (
              <FileDiff
                key={file.path}
                file={file}
                patch={patch.get(file.path)}
                layout={style}
                place={index}
                current={index === at}
                seen={seen.has(file.path)}
                onSeen={offered ? () => flip(setSeen, file) : undefined}
                leftOut={offered ? leftOut.has(file.path) : diff.acceptedFiles?.includes(file.path) === false}
                onLeaveOut={offered && diff.files.length > 1 ? () => flip(setLeftOut, file) : undefined}
              />
            ))}
          </div>
        </div>
      )}
      <footer className="review-foot">
        <Verdict state={diff.state} unseen={unseen.length} />
        <span className="grow" />
        {offered ? (
          <>
            <Button look="danger" shortcut="r" disabled={busy} onClick={() => decide(reject)}>
              Reject
            </Button>
            <Button look="primary" shortcut="a" disabled={!mayAccept} onClick={() => decide(accept)}>
              {leftOut.size === 0
                ? 'Accept diff'
                : `Accept ${taken.length} of ${plural(diff.files.length, 'file')}`}
            </Button>
          </>
        ) : null}
      </footer>
    </>
  );
}

function Verdict({ state, unseen }: { state: Diff['state']; unseen: number }): ReactNode {
  if (state === 'accepted')
    return (
      <Badge tone="green" icon="check">
        Accepted
      </Badge>
    );
  if (state === 'rejected')
    return (
      <Badge tone="red" icon="cross">
        Rejected
      </Badge>
    );
  if (state === 'discarded') return <Badge>Discarded</Badge>;
  return unseen === 0 ? (
    <span className="muted">Nothing reaches your repository before you accept it and apply it yourself.</span>
  ) : (
    <span className="row">
      <Icon name="flag" size={14} />
      {plural(unseen, 'file')} under dedicated control: mark {unseen === 1 ? 'it' : 'each'} as seen to accept.
    </span>
  );
}

const changeMarks: Readonly<Record<DiffFile['change'], { sign: string; look: string }>> = {
  added: { sign: 'A', look: 'ins' },
  modified: { sign: 'M', look: 'muted' },
  deleted: { sign: 'D', look: 'del' },
  renamed: { sign: 'R', look: 'muted' },
  copied: { sign: 'C', look: 'muted' },
  type_changed: { sign: 'T', look: 'muted' },
};

function FileLink({
  file,
  current,
  seen,
  onClick,
}: {
  file: DiffFile;
  current: boolean;
  seen: boolean;
  onClick: () => void;
}): ReactNode {
  const mark = changeMarks[file.change];
  return (
    <button
      type="button"
      className="review-file"
      aria-current={current}
      onClick={onClick}
      title={shownLine(file.path)}
    >
      <span className={`mono ${mark.look}`} title={file.change}>
        {mark.sign}
      </span>
      <span className="path truncate">
        <bdi>{shownLine(file.path)}</bdi>
      </span>
      {file.flags.length > 0 ? (
        <Icon name={seen ? 'check' : 'flag'} size={13} className={seen ? 'ins' : 'del'} />
      ) : seen ? (
        <Icon name="check" size={13} className="ins" />
      ) : (
        <span />
      )}
    </button>
  );
}
