import { createHmac } from 'node:crypto';
import type { JsonValue } from '@lemniscate/shared/json.ts';
import { at, idAt, listAt, oneLine, textAt, urlAt } from './members.ts';
import { refusedSignature, sameSecret, staleness } from './signatures.ts';
import type {
  Happening,
  RawDelivery,
  ReadDelivery,
  SeenObject,
  Verified,
  WebhookSource,
} from './webhook-source.ts';

// Shapes and headers: docs.gitlab.com, "Webhooks" and "Webhook events".

const statuses: Readonly<Record<string, string>> = {
  opened: 'open',
  closed: 'closed',
  merged: 'merged',
  locked: 'closed',
};

function objectOf(body: JsonValue, thing: JsonValue, type: 'issue' | 'merge_request'): SeenObject {
  const project = textAt(body, 'project', 'path_with_namespace');
  const clone = urlAt(body, 'project', 'git_http_url');
  const own = idAt(thing, 'source_project_id') === idAt(thing, 'target_project_id');
  const branch = type === 'merge_request' && own ? textAt(thing, 'source_branch') : '';
  const state = textAt(thing, 'state');
  const labels = listAt(thing, 'labels').length > 0 ? listAt(thing, 'labels') : listAt(body, 'labels');
  return {
    key: `${project}${type === 'issue' ? '#' : '!'}${idAt(thing, 'iid')}`,
    type,
    title: oneLine(textAt(thing, 'title'), 300),
    body: textAt(thing, 'description'),
    status: Object.hasOwn(statuses, state) ? (statuses[state] ?? 'open') : 'open',
    labels: labels.map((label) => oneLine(textAt(label, 'title'), 100)),
    url: urlAt(thing, 'url') ?? urlAt(thing, 'web_url'),
    author: null,
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

type Read = (body: JsonValue, attributes: JsonValue) => Omit<Happening, 'account'>[];

const note: Read = (body, attributes) => {
  const kind = textAt(attributes, 'noteable_type');
  const holder = { Issue: 'issue', MergeRequest: 'merge_request' } as const;
  const type = kind === 'Issue' || kind === 'MergeRequest' ? holder[kind] : null;
  const text = textAt(attributes, 'note');
  // System notes are what GitLab says itself; an edited note was said before.
  if (type === null || text === '' || at(attributes, 'system') === true) return [];
  if (textAt(attributes, 'action') === 'update') return [];
  return [
    {
      type: 'gitlab.note.created',
      cause: 'event',
      object: objectOf(body, at(body, type), type),
      comment: {
        key: `note:${idAt(attributes, 'id')}`,
        body: text,
        url: urlAt(attributes, 'url'),
        addressed: false,
        thread: textAt(attributes, 'discussion_id') || null,
      },
      opened: false,
      data: {},
    },
  ];
};

const titles = (labels: readonly JsonValue[]): string[] =>
  labels.map((label) => oneLine(textAt(label, 'title'), 100));

const thing: (type: 'issue' | 'merge_request') => Read = (type) => (body, attributes) => {
  const action = textAt(attributes, 'action');
  const object = objectOf(body, attributes, type);
  const rest = { object, comment: null, opened: action === 'open' };
  const before = titles(listAt(body, 'changes', 'labels', 'previous'));
  const now = titles(listAt(body, 'changes', 'labels', 'current'));
  const label = (name: string, what: 'added' | 'removed'): Omit<Happening, 'account'> => ({
    ...rest,
    type: `gitlab.label.${what}`,
    cause: 'label',
    data: { label: name },
  });
  return [
    ...now.filter((name) => !before.includes(name)).map((name) => label(name, 'added')),
    ...before.filter((name) => !now.includes(name)).map((name) => label(name, 'removed')),
    ...(['open', 'close', 'reopen', 'update', 'merge'].includes(action)
      ? [{ ...rest, type: `gitlab.${type}.${action}`, cause: 'event' as const, data: {} }]
      : []),
  ];
};

const pipeline: Read = (_body, attributes) => {
  if (textAt(attributes, 'status') !== 'failed') return [];
  return [
    {
      type: 'gitlab.pipeline.failed',
      cause: 'pipeline',
      object: null,
      comment: null,
      opened: false,
      data: {
        pipeline: idAt(attributes, 'id'),
        branch: oneLine(textAt(attributes, 'ref'), 200),
        commit: oneLine(textAt(attributes, 'sha'), 64),
        url: urlAt(attributes, 'url'),
      },
    },
  ];
};

const kinds: Readonly<Record<string, Read>> = {
  note,
  issue: thing('issue'),
  merge_request: thing('merge_request'),
  pipeline,
};

function read(body: JsonValue): ReadDelivery {
  const kind = textAt(body, 'object_kind');
  const attributes = at(body, 'object_attributes');
  const account = textAt(body, 'user', 'username') || textAt(body, 'user_username');
  const found = Object.hasOwn(kinds, kind) ? (kinds[kind]?.(body, attributes) ?? []) : [];
  if (found.length === 0 || account === '')
    return { kind: 'ignored', why: `${kind || 'an event without a kind'} sets nothing off` };
  const repository = textAt(body, 'project', 'path_with_namespace');
  const action = textAt(attributes, 'action');
  return {
    kind: 'happened',
    happenings: found.map((one) => ({ ...one, account, data: { ...one.data, action, repository } })),
  };
}

/** A secret that begins so is a signing token: GitLab then signs id, time and bytes as Standard Webhooks has it. */
const signingToken = 'whsec_';
/** Bytes of the shortest key that Standard Webhooks allows. */
const shortestKey = 24;

function verifySigned({ headers, body }: RawDelivery, secret: string, now: Date): Verified {
  const id = headers['webhook-id'] ?? '';
  const time = headers['webhook-timestamp'];
  const stale = staleness(time, now);
  if (stale !== null) return stale;
  const key = Buffer.from(secret.slice(signingToken.length), 'base64');
  if (key.length < shortestKey)
    return refusedSignature('The signing token of this hook is no key. Set another one.');
  const expected = createHmac('sha256', key).update(`${id}.${time}.`).update(body).digest('base64');
  const sent = (headers['webhook-signature'] ?? '').split(' ').slice(0, 10);
  // Each is compared, whichever fits.
  const fits = sent.map((signature) => sameSecret(signature, `v1,${expected}`));
  return fits.includes(true)
    ? { ok: true }
    : refusedSignature('webhook-signature does not fit the body under the signing token of this hook.');
}

/** GitLab sends the secret itself, or signs with a signing token, which is to be preferred. */
export const gitlab: WebhookSource = {
  name: 'gitlab',
  verify: (delivery, secret, now) => {
    if (secret.startsWith(signingToken)) return verifySigned(delivery, secret, now);
    if (sameSecret(delivery.headers['x-gitlab-token'] ?? '', secret)) return { ok: true };
    return refusedSignature('X-Gitlab-Token is not the secret of this hook.');
  },
  deliveryId: ({ headers }) =>
    headers['idempotency-key'] ?? headers['webhook-id'] ?? headers['x-gitlab-event-uuid'] ?? null,
  read: (_delivery, body) => read(body),
};
