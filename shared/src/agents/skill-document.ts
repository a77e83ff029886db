import { parseDocument } from 'yaml';
import { z } from 'zod';
import { CodedError } from '../errors/coded-error.ts';

/** The document that every skill has at its root. */
export const skillDocumentName = 'SKILL.md';
/** It is read by a model whole: longer ones belong into files beside it. Characters. */
export const maxSkillDocument = 64 * 1024;

/** Names as the Agent Skills layout has them: also the folder's. */
export const skillNameSchema = z
  .string()
  .max(64)
  .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be lower-case letters, digits and single hyphens');

const frontMatterSchema = z.object({
  name: skillNameSchema,
  description: z.string().trim().min(1).max(1024),
  license: z.string().max(500).optional(),
  compatibility: z.string().max(500).optional(),
  metadata: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
  'allowed-tools': z.union([z.string(), z.array(z.string())]).optional(),
});

/** What a skill's front matter says. */
export interface SkillDocument {
  readonly name: string;
  readonly description: string;
}

/**
 * Reads and checks a SKILL.md.
 * @param name the folder's
 * @param paths every file of the skill: links may go nowhere else
 * @throws CodedError `request_invalid` that names the fault
 */
export function readSkillDocument(text: string, name: string, paths: ReadonlySet<string>): SkillDocument {
  const refuse = (why: string): never => {
    throw new CodedError('request_invalid', `${skillDocumentName} of skill "${name}": ${why}.`, {
      skill: name,
    });
  };
  if (text.length > maxSkillDocument)
    refuse(
      `it has ${text.length} characters; at most ${maxSkillDocument} are taken, put the rest into files beside it`,
    );
  const match = /^\uFEFF?---\r?\n([^]*?)\r?\n---[ \t]*(?:\r?\n|$)/.exec(text);
  if (match?.[1] === undefined) return refuse('it must begin with front matter between two lines of "---"');
  const document = parseDocument(match[1], { maxAliasCount: 0, uniqueKeys: true } as never);
  const [fault] = document.errors;
  if (fault !== undefined) refuse(`the front matter is not YAML (${fault.message.split('\n')[0] ?? ''})`);
  const parsed = frontMatterSchema.safeParse(toPlain(document, refuse));
  if (!parsed.success)
    return refuse(
      `front matter: ${parsed.error.issues.map((issue) => `${issue.path.join('.') || 'all'} ${issue.message}`).join('; ')}`,
    );
  if (parsed.data.name !== name) refuse(`its name is "${parsed.data.name}", the folder's is "${name}"`);
  const broken = brokenLinks(text.slice(match[0].length), paths);
  if (broken.length > 0)
    refuse(`it links to files that the skill does not have: ${broken.slice(0, 5).join(', ')}`);
  return { name, description: parsed.data.description };
}

function toPlain(document: ReturnType<typeof parseDocument>, refuse: (why: string) => never): unknown {
  try {
    return document.toJS({ maxAliasCount: 0 });
  } catch {
    // Anchors that expand into more than they are.
    return refuse('the front matter must not use anchors');
  }
}

/** Longest target of a link that is looked at, so that the search takes time in proportion to the text. */
const longestTarget = 500;
const linkTarget = `(?:<([^<>\\n]{1,${longestTarget}})>|([^()\\s<>]{1,${longestTarget}}))`;
const inlineLink = new RegExp(`\\]\\([ \\t]{0,20}${linkTarget}`, 'g');
const linkDefinition = new RegExp(`^ {0,3}\\[[^\\]\\n]{1,200}\\]:[ \\t]{1,20}${linkTarget}`, 'gm');

/** Text without what is shown as it stands: what looks like a link in code is an example of one. */
function withoutCode(body: string): string {
  let fence = '';
  const prose = body.split('\n').filter((line) => {
    const [, marks = ''] = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/.exec(line) ?? [];
    if (fence !== '') {
      if (marks.startsWith(fence) && line.trim() === marks) fence = '';
      return false;
    }
    fence = marks;
    return fence === '';
  });
  return prose.join('\n').replaceAll(/`[^`\n]*`/g, '');
}

/**
 * Relative targets of Markdown links that are no file of the skill, and links to files of the machine. Other addresses with
 * a scheme and anchors are left alone.
 */
function brokenLinks(body: string, paths: ReadonlySet<string>): string[] {
  const prose = withoutCode(body);
  const targets = [inlineLink, linkDefinition].flatMap((link) =>
    [...prose.matchAll(link)].map(([, bracketed, plain = '']) => bracketed ?? plain),
  );
  return targets.filter((target) => {
    if (/^file:/i.test(target)) return true;
    if (/^[a-z][a-z0-9+.-]*:/i.test(target) || target.startsWith('#')) return false;
    const path = (target.split('#')[0] ?? '').replace(/^\.\//, '');
    return !paths.has(decode(path));
  });
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    // A percent sign that encodes nothing is part of a name.
    return path;
  }
}
