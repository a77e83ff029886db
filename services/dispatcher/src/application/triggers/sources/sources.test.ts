import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonValue } from '@lemniscate/shared/json.ts';
import { fromGithub, fromGitlab, fromSlack, webhookBodies } from '../../../testing/signed-webhooks.ts';
import { github } from './github.ts';
import { gitlab } from './gitlab.ts';
import { sources } from './registry.ts';
import { slack } from './slack.ts';
import { sourceContract } from './source-contract.ts';
import type { Happening } from './webhook-source.ts';

const secret = 'a-secret-of-the-hook';
const otherSecret = 'a-secret-of-the-hooks';
const token = (text: string) => `whsec_${Buffer.from(text.repeat(2)).toString('base64')}`;

sourceContract({
  source: sources.github,
  secret,
  otherSecret,
  comment: (key) =>
    fromGithub(webhookBodies.githubComment('@fixer look'), {
      secret: key,
      event: 'issue_comment',
      id: 'd-1',
    }),
  signsTime: false,
  signsBody: true,
  account: 'Octo-Pat',
});
sourceContract({
  source: sources.gitlab,
  secret,
  otherSecret,
  comment: (key) => fromGitlab(webhookBodies.gitlabNote('@fixer look'), { secret: key, id: 'd-1' }),
  signsTime: false,
  signsBody: false,
  account: 'lab.pat',
});
sourceContract({
  source: sources.gitlab,
  secret: token('0123456789abcdef'),
  otherSecret: token('0123456789abcdeg'),
  comment: (key, at) => fromGitlab(webhookBodies.gitlabNote('@fixer look'), { secret: key, id: 'd-1', at }),
  signsTime: true,
  signsBody: true,
  account: 'lab.pat',
});
sourceContract({
  source: sources.slack,
  secret,
  otherSecret,
  comment: (key, at) => fromSlack(webhookBodies.slackMention('@fixer look'), { secret: key, at }),
  signsTime: true,
  signsBody: true,
  account: 'U7',
});

const none = { headers: {}, body: Buffer.alloc(0) };
const happenings = (read: ReturnType<typeof github.read>): readonly Happening[] =>
  read.kind === 'happened' ? read.happenings : [];
const ofGithub = (event: string, body: JsonValue) =>
  happenings(github.read({ ...none, headers: { 'x-github-event': event } }, body));

test('the signature of GitHub’s own documentation fits', () => {
  const body = Buffer.from('Hello, World!');
  const headers = {
    'x-hub-signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
  };
  assert.equal(github.verify({ headers, body }, "It's a Secret to Everybody", new Date()).ok, true);
});

test('labels and failed pipelines are events of their own; a pipeline that did well is none', () => {
  const [label] = ofGithub('issues', webhookBodies.githubLabel('fix-me'));
  assert.deepEqual(
    [label?.type, label?.cause, label?.data['label']],
    ['github.label.added', 'label', 'fix-me'],
  );
  const [failed] = ofGithub('workflow_run', webhookBodies.githubWorkflow('failure'));
  assert.deepEqual([failed?.type, failed?.data['branch']], ['github.pipeline.failed', 'main']);
  assert.deepEqual(ofGithub('workflow_run', webhookBodies.githubWorkflow('success')), []);
  assert.deepEqual(ofGithub('push', {}), []);
  const labels = happenings(gitlab.read(none, webhookBodies.gitlabLabels(['a', 'b'], ['b', 'c'])));
  assert.deepEqual(
    labels.map(({ type, data }) => [type, data['label'] ?? null]),
    [
      ['gitlab.label.added', 'c'],
      ['gitlab.label.removed', 'a'],
      ['gitlab.issue.update', null],
    ],
  );
  const [pipeline] = happenings(gitlab.read(none, webhookBodies.gitlabPipeline('failed')));
  assert.equal(pipeline?.type, 'gitlab.pipeline.failed');
  assert.deepEqual(happenings(gitlab.read(none, webhookBodies.gitlabPipeline('success'))), []);
});

test('a branch of a fork is not taken for one of the repository', () => {
  const pull = (full_name: string) => ({
    action: 'opened',
    pull_request: { number: 3, title: 't', state: 'open', head: { ref: 'feature', repo: { full_name } } },
    repository: { full_name: 'org/app', clone_url: 'https://github.com/org/app.git' },
    sender: { login: 'pat' },
  });
  const revision = (full_name: string) => ofGithub('pull_request', pull(full_name))[0]?.object?.repository;
  assert.deepEqual(revision('org/app'), {
    kind: 'git',
    url: 'https://github.com/org/app.git',
    revision: 'feature',
  });
  assert.deepEqual(revision('eve/app'), { kind: 'git', url: 'https://github.com/org/app.git' });
});

test('Slack’s question whether we are there is answered', () => {
  const read = slack.read(none, { type: 'url_verification', challenge: 'abc' });
  assert.deepEqual(read, { kind: 'challenge', answer: { challenge: 'abc' } });
});
