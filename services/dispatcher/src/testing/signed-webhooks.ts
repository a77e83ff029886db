import { createHmac } from 'node:crypto';
import type { JsonValue } from '@lemniscate/shared/json.ts';
import type { RawDelivery } from '../application/triggers/sources/webhook-source.ts';

const hex = (secret: string, ...parts: (string | Buffer)[]): string => {
  const hmac = createHmac('sha256', secret);
  for (const part of parts) hmac.update(part);
  return hmac.digest('hex');
};

/** A delivery as GitHub sends it. */
export function fromGithub(
  body: JsonValue,
  { secret, event, id }: { secret: string; event: string; id: string },
): RawDelivery {
  const bytes = Buffer.from(JSON.stringify(body));
  return {
    body: bytes,
    headers: {
      'content-type': 'application/json',
      'x-github-event': event,
      'x-github-delivery': id,
      'x-hub-signature-256': `sha256=${hex(secret, bytes)}`,
    },
  };
}

/** A delivery as GitLab sends it: with the secret itself, or signed with a signing token. */
export function fromGitlab(
  body: JsonValue,
  { secret, id, at = new Date() }: { secret: string; id: string; at?: Date },
): RawDelivery {
  const bytes = Buffer.from(JSON.stringify(body));
  const common = { 'content-type': 'application/json', 'idempotency-key': id };
  if (!secret.startsWith('whsec_')) return { body: bytes, headers: { ...common, 'x-gitlab-token': secret } };
  const time = String(Math.floor(at.getTime() / 1_000));
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${time}.`).update(bytes).digest('base64');
  return {
    body: bytes,
    headers: {
      ...common,
      'webhook-id': id,
      'webhook-timestamp': time,
      'webhook-signature': `v1,${signature}`,
    },
  };
}

/** A delivery as Slack sends it. */
export function fromSlack(
  body: JsonValue,
  { secret, at = new Date() }: { secret: string; at?: Date },
): RawDelivery {
  const bytes = Buffer.from(JSON.stringify(body));
  const time = String(Math.floor(at.getTime() / 1_000));
  return {
    body: bytes,
    headers: {
      'content-type': 'application/json',
      'x-slack-request-timestamp': time,
      'x-slack-signature': `v0=${hex(secret, `v0:${time}:`, bytes)}`,
    },
  };
}

const githubRepository = {
  full_name: 'org/app',
  clone_url: 'https://github.com/org/app.git',
} as const;

/** Bodies with the members that are read, as the systems' own pages document them. */
export const webhookBodies = {
  githubComment: (text: string, more: { id?: number; login?: string; number?: number } = {}) => ({
    action: 'created',
    issue: {
      number: more.number ?? 12,
      title: 'Wrong sum',
      body: 'It says 3.',
      state: 'open',
      labels: [{ name: 'bug' }],
      html_url: 'https://github.com/org/app/issues/12',
      user: { login: 'reporter' },
    },
    comment: {
      id: more.id ?? 1001,
      body: text,
      html_url: 'https://github.com/org/app/issues/12#issuecomment-1001',
      user: { login: more.login ?? 'Octo-Pat' },
    },
    repository: githubRepository,
    sender: { login: more.login ?? 'Octo-Pat' },
  }),
  githubLabel: (label: string) => ({
    action: 'labeled',
    label: { name: label },
    issue: { number: 12, title: 'Wrong sum', body: 'It says 3.', state: 'open', labels: [{ name: label }] },
    repository: githubRepository,
    sender: { login: 'Octo-Pat' },
  }),
  githubWorkflow: (conclusion: string) => ({
    action: 'completed',
    workflow_run: { name: 'ci', conclusion, head_branch: 'main', head_sha: 'a'.repeat(40) },
    repository: githubRepository,
    sender: { login: 'Octo-Pat' },
  }),
  gitlabNote: (text: string, more: { id?: number; discussion?: string } = {}) => ({
    object_kind: 'note',
    user: { username: 'lab.pat' },
    project: { path_with_namespace: 'org/app', git_http_url: 'https://gitlab.example/org/app.git' },
    object_attributes: {
      id: more.id ?? 7,
      note: text,
      noteable_type: 'MergeRequest',
      action: 'create',
      discussion_id: more.discussion ?? 'd1',
      url: 'https://gitlab.example/org/app/-/merge_requests/3#note_7',
    },
    merge_request: {
      iid: 3,
      title: 'Add things',
      description: 'More of them.',
      state: 'opened',
      source_branch: 'things',
      source_project_id: 1,
      target_project_id: 1,
    },
  }),
  gitlabLabels: (before: string[], now: string[]) => ({
    object_kind: 'issue',
    user: { username: 'lab.pat' },
    project: { path_with_namespace: 'org/app', git_http_url: 'https://gitlab.example/org/app.git' },
    object_attributes: { iid: 4, title: 'Slow', description: '', state: 'opened', action: 'update' },
    labels: now.map((title) => ({ title })),
    changes: {
      labels: { previous: before.map((title) => ({ title })), current: now.map((title) => ({ title })) },
    },
  }),
  gitlabPipeline: (status: string) => ({
    object_kind: 'pipeline',
    user: { username: 'lab.pat' },
    project: { path_with_namespace: 'org/app' },
    object_attributes: { id: 31, status, ref: 'main', sha: 'b'.repeat(40) },
  }),
  slackMention: (text: string, more: { event?: string; thread?: string; ts?: string } = {}) => ({
    type: 'event_callback',
    team_id: 'T1',
    event_id: more.event ?? 'Ev1',
    event: {
      type: 'app_mention',
      user: 'U7',
      text: `<@U0APP> ${text}`,
      channel: 'C1',
      ts: more.ts ?? '1764450000.000100',
      ...(more.thread === undefined ? {} : { thread_ts: more.thread }),
    },
  }),
} as const;
