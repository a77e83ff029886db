import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { FormEvent, ReactNode } from 'react';
import { Link } from 'wouter';
import { ask, seenHeader } from '@lemniscate/api/client.ts';
import type { BodyOf } from '@lemniscate/api/client.ts';
import type { CommentView, ObjectView } from '@lemniscate/shared/api/object.ts';
import { api } from '../api/client.ts';
import { useAct, useAgents } from '../api/queries.ts';
import { bytes, moment, shortId } from '../parts/format.ts';
import { CardPage } from '../parts/page.tsx';
import { Age, Badge, Button, Card, Empty, Loaded, useNow } from '../parts/parts.tsx';
import { shown, shownLine } from '../session/plain-text.ts';
import { Actor } from './actor.tsx';

const lookEveryMs = 3_000;
/** Statuses that every project knows; others are shown and kept. */
const statuses = ['open', 'in_progress', 'in_review', 'done'];

/** One object: what it says, its thread, its files and who did what. */
export function ObjectPage({ id }: { id: string }): ReactNode {
  const object = useQuery({
    queryKey: ['object', id],
    refetchInterval: lookEveryMs,
    queryFn: () => ask(api.GET('/v1/objects/{object}', { params: { path: { object: id } } })),
  });
  return (
    <Loaded query={object}>
      {(loaded) => (
        <CardPage
          title={
            <>
              <Link href="/objects" className="muted">
                Objects
              </Link>
              <span className="faint" aria-hidden="true">
                /
              </span>
              <h1 className="truncate">{shownLine(loaded.title)}</h1>
              <Badge tone="blue">{shownLine(loaded.status)}</Badge>
            </>
          }
          width={860}
        >
          <Facts object={loaded} />
          {loaded.body === '' ? null : (
            <Card title="Text">
              <div className="thread-text">{shown(loaded.body)}</div>
            </Card>
          )}
          {loaded.files.length === 0 ? null : (
            <Card title="Files" flush>
              <ul className="plain-list">
                {loaded.files.map((file) => (
                  <li key={`${file.session}/${file.path}`} className="spread">
                    <a className="link mono" href={file.url} download>
                      {shownLine(file.path)}
                    </a>
                    <span className="muted num">{bytes(file.bytes)}</span>
                  </li>
                ))}
              </ul>
            </Card>
          )}
          <Thread id={id} />
          <History id={id} />
        </CardPage>
      )}
    </Loaded>
  );
}

function Facts({ object }: { object: ObjectView }): ReactNode {
  const agents = (useAgents().data ?? []).filter(
    (agent) => agent.project === '*' || agent.project === object.project,
  );
  const change = useAct(
    (body: BodyOf<'/v1/objects/{object}', 'patch'>) =>
      ask(
        api.PATCH('/v1/objects/{object}', {
          params: { path: { object: object.id }, header: seenHeader(object) },
          body,
        }),
      ),
    [['object', object.id], ['objects'], ['object-history', object.id]],
  );
  const assigned = object.assignee?.kind === 'agent' ? object.assignee.id : '';
  return (
    <Card title="Facts">
      <div className="row wrap" style={{ gap: 20, alignItems: 'flex-end' }}>
        <label className="field">
          <span>Status</span>
          <select
            className="input"
            value={object.status}
            disabled={change.isPending}
            onChange={(event) => change.mutate({ status: event.target.value })}
          >
            {[...new Set([...statuses, object.status])].map((status) => (
              <option key={status}>{status}</option>
            ))}
          </select>
        </label>
        <label className="field">
          <span>Assigned agent</span>
          <select
            className="input"
            value={assigned}
            disabled={change.isPending}
            onChange={(event) =>
              change.mutate({
                assignee: event.target.value === '' ? null : { kind: 'agent', id: event.target.value },
              })
            }
          >
            <option value="">
              {object.assignee?.kind === 'person' ? shownLine(object.assignee.id) : 'nobody'}
            </option>
            {agents.map((agent) => (
              <option key={agent.id}>{agent.id}</option>
            ))}
          </select>
        </label>
        <dl className="facts grow">
          <dt>Project</dt>
          <dd>{object.project}</dd>
          <dt>Created</dt>
          <dd>
            <Actor actor={object.createdBy} /> · {moment(object.createdAt)}
          </dd>
          {object.url === null ? null : (
            <>
              <dt>From</dt>
              <dd>
                {shownLine(object.source)} {shownLine(object.sourceKey ?? '')}
              </dd>
            </>
          )}
        </dl>
      </div>
    </Card>
  );
}

function Thread({ id }: { id: string }): ReactNode {
  const now = useNow(10_000);
  const [replyTo, setReplyTo] = useState<CommentView | null>(null);
  const [body, setBody] = useState('');
  const key = ['comments', id];
  const comments = useQuery({
    queryKey: key,
    refetchInterval: lookEveryMs,
    queryFn: () => readComments(id),
  });
  const send = useAct(
    () =>
      ask(
        api.POST('/v1/objects/{object}/comments', {
          params: { path: { object: id } },
          body: { body, ...(replyTo === null ? {} : { replyTo: replyTo.id }) },
        }),
      ),
    [key, ['object-history', id]],
    () => {
      setBody('');
      setReplyTo(null);
    },
  );
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    send.mutate();
  };
  return (
    <Card title="Thread">
      <Loaded query={comments} rows={3}>
        {(list) =>
          list.length === 0 ? (
            <p className="faint">Nobody has said anything.</p>
          ) : (
            <ul className="thread">
              {list.map((comment) => (
                <li key={comment.id}>
                  <div className="spread">
                    <strong>
                      <Actor actor={comment.createdBy} />
                    </strong>
                    <span className="muted">
                      {comment.session === null ? null : (
                        <Link href={`/sessions/${comment.session}`} className="link">
                          {shortId(comment.session)}
                        </Link>
                      )}{' '}
                      <Age at={comment.createdAt} now={now} />
                    </span>
                  </div>
                  <div className="thread-text">{shown(comment.body)}</div>
                  {comment.createdBy.kind === 'agent' ? (
                    <button type="button" className="link-button" onClick={() => setReplyTo(comment)}>
                      Answer
                    </button>
                  ) : null}
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      <form onSubmit={submit} className="stack" style={{ marginTop: 14 }}>
        <label className="field">
          <span>
            {replyTo === null
              ? 'Comment; @agent asks an agent'
              : `Answer to ${shownLine(replyTo.createdBy.id)}: goes on in a new session`}
          </span>
          <textarea
            className="input"
            rows={3}
            maxLength={65_536}
            value={body}
            onChange={(event) => setBody(event.target.value)}
          />
        </label>
        <div className="row">
          <Button type="submit" look="primary" disabled={send.isPending || body.trim() === ''}>
            Comment
          </Button>
          {replyTo === null ? null : <Button onClick={() => setReplyTo(null)}>No answer</Button>}
        </div>
      </form>
    </Card>
  );
}

async function readComments(id: string): Promise<CommentView[]> {
  const comments: CommentView[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const page: { comments: CommentView[]; nextCursor: string | null } = await ask(
      api.GET('/v1/objects/{object}/comments', {
        params: { path: { object: id }, query: { limit: 100, ...(cursor === '' ? {} : { cursor }) } },
      }),
    );
    comments.push(...page.comments);
    cursor = page.nextCursor;
  }
  return comments;
}

function History({ id }: { id: string }): ReactNode {
  const history = useQuery({
    queryKey: ['object-history', id],
    refetchInterval: lookEveryMs * 2,
    queryFn: () =>
      ask(
        api.GET('/v1/objects/{object}/history', { params: { path: { object: id }, query: { limit: 100 } } }),
      ).then(({ acts }) => acts),
  });
  return (
    <Card title="Who did what" flush>
      <Loaded query={history} rows={3}>
        {(acts) =>
          acts.length === 0 ? (
            <Empty icon="clock" title="Nothing happened" />
          ) : (
            <ul className="plain-list">
              {acts.map((act) => (
                <li key={`${act.at}${act.act}`} className="spread">
                  <span>
                    <Actor actor={act.by} /> {act.act.replaceAll('_', ' ')}{' '}
                    <span className="muted">{shownLine(wordsOf(act.detail))}</span>
                  </span>
                  <span className="muted num">{moment(act.at)}</span>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Card>
  );
}

/** What an act changed, as `status: open → done`; the rest is for programs. */
function wordsOf(detail: Readonly<Record<string, unknown>>): string {
  return Object.entries(detail)
    .flatMap(([name, value]) => {
      const text = textOf(value);
      return text === null ? [] : [`${name}: ${text.slice(0, 120)}`];
    })
    .join(' · ');
}

function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value;
  if (value === null) return 'nobody';
  if (typeof value !== 'object') return null;
  if ('from' in value && 'to' in value) return `${textOf(value.from) ?? '–'} → ${textOf(value.to) ?? '–'}`;
  return 'id' in value ? textOf(value.id) : null;
}
