import { at, oneLine, textAt } from './members.ts';
import { hmacHex, refusedSignature, sameSecret, staleness } from './signatures.ts';
import type { ReadDelivery, WebhookSource } from './webhook-source.ts';
import type { JsonValue } from '@lemniscate/shared/json.ts';

// Shapes and headers: docs.slack.dev, "Verifying requests from Slack", "app_mention event".

/** `<@U123>` is the app itself; the agent is named in the words. */
const appMention = /<@[UW][A-Z0-9]+(\|[^>]*)?>/g;

function read(body: JsonValue): ReadDelivery {
  if (textAt(body, 'type') === 'url_verification')
    return { kind: 'challenge', answer: { challenge: textAt(body, 'challenge').slice(0, 1_000) } };
  const event = at(body, 'event');
  const account = textAt(event, 'user');
  if (textAt(event, 'type') !== 'app_mention' || account === '' || textAt(event, 'bot_id') !== '')
    return { kind: 'ignored', why: 'only a person’s mention of the app sets anything off' };
  const team = textAt(body, 'team_id');
  const channel = textAt(event, 'channel');
  const time = textAt(event, 'ts');
  const thread = textAt(event, 'thread_ts') || time;
  const text = textAt(event, 'text').replaceAll(appMention, ' ').trim();
  return {
    kind: 'happened',
    happenings: [
      {
        type: 'slack.app_mention',
        cause: 'event',
        account,
        object: {
          key: `${team}/${channel}/${thread}`,
          type: 'thread',
          title: oneLine(text, 200) || 'A thread in Slack',
          body: '',
          status: 'open',
          labels: [],
          url: null,
          author: null,
          repository: null,
        },
        comment: {
          key: `${channel}:${time}`,
          body: text === '' ? '(no words)' : text,
          url: null,
          addressed: true,
          thread,
        },
        opened: false,
        data: { team, channel },
      },
    ],
  };
}

/** Slack signs the time and the bytes. */
export const slack: WebhookSource = {
  name: 'slack',
  verify: ({ headers, body }, secret, now) => {
    const time = headers['x-slack-request-timestamp'];
    const stale = staleness(time, now);
    if (stale !== null) return stale;
    if (sameSecret(headers['x-slack-signature'] ?? '', `v0=${hmacHex(secret, `v0:${time}:`, body)}`))
      return { ok: true };
    return refusedSignature('X-Slack-Signature does not fit the body under the signing secret of this hook.');
  },
  deliveryId: (_delivery, body) => textAt(body, 'event_id') || null,
  read: (_delivery, body) => read(body),
};
