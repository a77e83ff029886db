import type { JsonValue } from '@lemniscate/shared/json.ts';
import { at, idAt, listAt, oneLine, textAt, urlAt } from './members.ts';
import { hmacHex, refusedSignature, sameSecret } from './signatures.ts';
import type { Happening, ReadDelivery, SeenComment, SeenObject, WebhookSource } from './webhook-source.ts';

// Shapes and headers: docs.github.com/webhooks, "Webhook events and payloads" and "Validating webhook deliveries".

const labelsOf = (holder: JsonValue): string[] =>
  listAt(holder, 'labels').map((label) => oneLine(textAt(label, 'name'), 100));

function objectOf(body: JsonValue, thing: JsonValue, type: 'issue' | 'pull_request'): SeenObject {
  const repository = textAt(body, 'repository', 'full_name');
  const clone = urlAt(body, 'repository', 'clone_url');
  const merged = at(thing, 'merged') === true;
  // A branch of a fork is not in this repository.
  const own = textAt(thing, 'head', 'repo', 'full_name') === repository;
  const branch = own ? textAt(thing, 'head', 'ref') : '';
  return {
    key: `${repository}#${idAt(thing, 'number')}`,
    type,
    title: oneLine(textAt(thing, 'title'), 300),
    body: textAt(thing, 'body'),
    status: merged ? 'merged' : textAt(thing, 'state') || 'open',
    labels: labelsOf(thing),
    url: urlAt(thing, 'html_url'),
    author: textAt(thing, 'user', 'login') || null,
    repository:
      clone === null
        ? null
        : {
            kind: 'git',
            url: clone,
            ...(branch === '' || branch.startsWith('-') ? {} : { revision: branch }),
          },
  };
}

/** What the event is about; an issue with a `pull_request` member is one. */
function aboutOf(body: JsonValue): SeenObject | null {
  const pull = at(body, 'pull_request');
  if (pull !== null) return objectOf(body, pull, 'pull_request');
  const issue = at(body, 'issue');
  if (issue === null) return null;
  return objectOf(body, issue, at(issue, 'pull_request') === null ? 'issue' : 'pull_request');
}

function commentOf(event: string, body: JsonValue): SeenComment | null {
  const said = event === 'pull_request_review' ? at(body, 'review') : at(body, 'comment');
  const text = textAt(said, 'body');
  if (text === '') return null;
  const thread = idAt(said, 'in_reply_to_id') || idAt(said, 'id');
  return {
    key: `${event}:${idAt(said, 'id')}`,
    body: text,
    url: urlAt(said, 'html_url'),
    addressed: false,
    thread: event === 'pull_request_review_comment' ? thread : null,
  };
}

type Read = (
  body: JsonValue,
  action: string,
) => Pick<Happening, 'type' | 'cause' | 'comment' | 'opened' | 'data'> | null;

const commented =
  (event: string, wanted: string): Read =>
  (body, action) => {
    const comment = action === wanted ? commentOf(event, body) : null;
    if (comment === null) return null;
    return { type: `github.${event}.${action}`, cause: 'event', comment, opened: false, data: {} };
  };

const thing: (event: string) => Read = (event) => (body, action) => {
  if (action === 'labeled' || action === 'unlabeled') {
    const label = oneLine(textAt(body, 'label', 'name'), 100);
    const type = `github.label.${action === 'labeled' ? 'added' : 'removed'}`;
    return { type, cause: 'label', comment: null, opened: false, data: { label } };
  }
  if (
    !['opened', 'edited', 'closed', 'reopened', 'assigned', 'synchronize', 'ready_for_review'].includes(
      action,
    )
  )
    return null;
  const assignee = textAt(body, 'assignee', 'login');
  return {
    type: `github.${event}.${action}`,
    cause: 'event',
    comment: null,
    opened: action === 'opened',
    data: assignee === '' ? {} : { assignee },
  };
};

const failures: readonly string[] = ['failure', 'timed_out', 'startup_failure'];

const workflow: Read = (body, action) => {
  const run = at(body, 'workflow_run');
  const conclusion = textAt(run, 'conclusion');
  if (action !== 'completed' || !failures.includes(conclusion)) return null;
  return {
    type: 'github.pipeline.failed',
    cause: 'pipeline',
    comment: null,
    opened: false,
    data: {
      pipeline: oneLine(textAt(run, 'name'), 200),
      conclusion,
      branch: oneLine(textAt(run, 'head_branch'), 200),
      commit: oneLine(textAt(run, 'head_sha'), 64),
      url: urlAt(run, 'html_url'),
    },
  };
};

const events: Readonly<Record<string, Read>> = {
  issue_comment: commented('issue_comment', 'created'),
  pull_request_review_comment: commented('pull_request_review_comment', 'created'),
  pull_request_review: commented('pull_request_review', 'submitted'),
  issues: thing('issue'),
  pull_request: thing('pull_request'),
  workflow_run: workflow,
};

function read(event: string, body: JsonValue): ReadDelivery {
  const action = textAt(body, 'action');
  const found = Object.hasOwn(events, event) ? events[event]?.(body, action) : null;
  const account = textAt(body, 'sender', 'login');
  if (found === null || found === undefined || account === '')
    return { kind: 'ignored', why: `${event || 'an event without a name'} ${action} sets nothing off` };
  const repository = textAt(body, 'repository', 'full_name');
  const object = found.cause === 'pipeline' ? null : aboutOf(body);
  return {
    kind: 'happened',
    happenings: [{ ...found, account, object, data: { ...found.data, action, repository } }],
  };
}

/** GitHub signs the bytes with the hook's secret, but neither a time nor the delivery's id. */
export const github: WebhookSource = {
  name: 'github',
  verify: ({ headers, body }, secret) => {
    const sent = headers['x-hub-signature-256'] ?? '';
    if (sameSecret(sent, `sha256=${hmacHex(secret, body)}`)) return { ok: true };
    return refusedSignature('X-Hub-Signature-256 does not fit the body under the secret of this hook.');
  },
  deliveryId: ({ headers }) => headers['x-github-delivery'] ?? null,
  read: ({ headers }, body) => read(headers['x-github-event'] ?? '', body),
};
