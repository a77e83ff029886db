import { makeVisible, makeVisibleLine } from '@lemniscate/shared/text/visible.ts';
import type { OutgoingNotice } from '../../application/ports/notifier.ts';

type Lines = (word: (name: string) => string) => { readonly subject: string; readonly text: string };

/** What people read, by type. What comes from agents is shown with its control characters visible. */
const words: Readonly<Record<string, Lines>> = {
  'session.state_changed': (word) => ({
    subject: `Session ${word('session')} is ${word('state')}`,
    text: `Project ${word('project')}, agent ${word('agent')}. Reason: ${word('reason') || 'none'}.`,
  }),
  'approval.wanted': (word) => ({
    subject: `${word('tool')} waits for an approval`,
    text: `Session ${word('session')} of project ${word('project')}: lemniscate approvals`,
  }),
  'budget.warning': (word) => ({
    subject: `The budget of ${word('scope')} ${word('name')} has come to its warning`,
    text: `${word('grantedUsd')} of ${word('amountUsd')} US dollars are granted.`,
  }),
  'object.changed': (word) => ({
    subject: `${word('title')} is ${word('status')}`,
    text: `Object ${word('object')} of project ${word('project')}, by ${word('by')}.`,
  }),
  'object.commented': (word) => ({
    subject: `${word('by')} on ${word('title')}`,
    text: word('body'),
  }),
  test: () => ({ subject: 'A test from Lemniscate', text: 'If you read this, messages arrive.' }),
};

/** A message as a person reads it. */
export function noticeText({ type, data }: OutgoingNotice): { subject: string; text: string } {
  const word = (name: string): string => {
    const value = Object.hasOwn(data, name) ? data[name] : null;
    return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  };
  const lines = Object.hasOwn(words, type) ? words[type] : undefined;
  const { subject, text } = lines?.(word) ?? { subject: type, text: JSON.stringify(data) };
  return { subject: makeVisibleLine(subject).slice(0, 200), text: makeVisible(text).slice(0, 10_000) };
}
