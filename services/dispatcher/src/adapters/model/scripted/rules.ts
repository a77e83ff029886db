import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { baseName } from './conversation.ts';
import type { Conversation } from './conversation.ts';
import { isFactName, lookAt } from './facts.ts';
import type { FactName, FactValue } from './facts.ts';
import type { Reply } from './reply.ts';
import type { Condition, Rule, Script } from './script.ts';

type Look = (name: FactName) => FactValue;
type Captures = Map<string, string>;

const pattern = /^\/(.*)\/([a-z]*)$/s;

function holds(condition: Condition, value: FactValue, captures: Captures): boolean {
  if (typeof condition === 'object') {
    return 'at_least' in condition ? Number(value) >= condition.at_least : Number(value) <= condition.at_most;
  }
  if (condition === 'present') return value !== '';
  if (condition === 'absent') return value === '';
  const regex = typeof condition === 'string' ? pattern.exec(condition) : null;
  if (regex === null) return value === condition;
  const match = new RegExp(regex[1] ?? '', regex[2]).exec(String(value));
  for (const [name, text] of Object.entries(match?.groups ?? {})) captures.set(name, text);
  return match !== null;
}

function fill(template: string, look: Look, captures: Captures): string {
  return template.replace(/\{\{(\w+)\}\}/g, (_, name: string) => {
    if (captures.has(name)) return captures.get(name) ?? '';
    return isFactName(name) ? String(look(name)) : '';
  });
}

function ruleHolds(rule: Rule, look: Look, captures: Captures): boolean {
  return Object.entries(rule.when).every(([name, condition]) =>
    holds(condition, look(name as FactName), captures),
  );
}

function toReply(rule: Rule, look: Look, captures: Captures, tools: readonly string[]): Reply {
  const text = fill(rule.say, look, captures).trim();
  if (rule.call === undefined) return { text, calls: [] };
  const { tool, input } = rule.call;
  const offered = tools.find((name) => baseName(name) === tool);
  if (offered === undefined) {
    return {
      text: `I would need the tool ${tool} for the next step, and it is not offered. I stop here.`,
      calls: [],
    };
  }
  const filled = Object.entries(input).map(([key, value]) => [
    key,
    typeof value === 'string' ? fill(value, look, captures) : value,
  ]);
  return { text, calls: [{ name: offered, input: Object.fromEntries(filled) }] };
}

function answerFrom(script: Script, scripts: readonly Script[], look: Look, tools: readonly string[]): Reply {
  for (const rule of script.rules) {
    const captures: Captures = new Map();
    if (!ruleHolds(rule, look, captures)) continue;
    if (rule.hand_over === undefined) return toReply(rule, look, captures, tools);
    const next = scripts.find((other) => other.name === rule.hand_over && other !== script);
    if (next !== undefined)
      return answerFrom(
        next,
        scripts.filter((other) => other !== script),
        look,
        tools,
      );
  }
  throw new CodedError(
    'internal',
    `No rule of the model script ${script.name} holds. Give it a last rule without a condition.`,
    { script: script.name },
  );
}

/** Plays the first script that takes the instruction: the first rule that holds makes the reply. */
export function play(scripts: readonly Script[], conversation: Conversation): Reply {
  const script = scripts.find(
    (one) => one.instruction === undefined || new RegExp(one.instruction, 'i').test(conversation.instruction),
  );
  if (script === undefined) return { text: 'I have no script for this instruction.', calls: [] };
  return answerFrom(script, scripts, lookAt(conversation), conversation.tools);
}
