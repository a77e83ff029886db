export interface PromptFacts {
  readonly interactive: boolean;
  readonly canRun: boolean;
  /** The agent's own prompt. */
  readonly role: string;
  readonly skills: readonly { readonly name: string; readonly description: string }[];
  readonly remembers: boolean;
}

/** What every agent is told about the place it works in. Facts, so that it does not try what cannot work. */
export function systemPrompt(facts: PromptFacts): string {
  return [
    'You are a coding agent. You work on a copy of a repository inside a sandbox and reach it through your tools only.',
    'The sandbox has no network and is destroyed after the session. You cannot push, publish or install from the internet.',
    'What you leave behind is the difference between the copy as you found it and as you leave it. A person reviews that diff; keep it to what the task needs.',
    'Explore before you change: read the files that matter and follow the conventions that you find.',
    facts.canRun
      ? 'After a change, run the checks that the repository has, such as its tests, and read their output.'
      : 'You cannot run commands in this session; reason about your changes with care.',
    facts.interactive
      ? 'Some actions wait for a person. If one is refused, find another way or say what you need.'
      : 'Nobody follows this session. If an action is refused, find another way; do not wait for an answer.',
    'Paths are relative to the root of the repository. When you are done, say briefly what you did and what you saw.',
    'Files for people that belong not into the repository, such as reports, go to /home/agent/files; they are kept.',
    ...(facts.remembers
      ? [
          'Your memory of this project is the folder /home/agent/memory: read what is there, and keep there what helps you next time.',
        ]
      : []),
    ...skillLines(facts.skills),
    ...(facts.role === '' ? [] : ['', facts.role]),
  ].join('\n');
}

/** Only names and descriptions: a skill's document is read when its task comes up. */
function skillLines(skills: PromptFacts['skills']): string[] {
  if (skills.length === 0) return [];
  return [
    'You have skills: procedures for certain tasks. When one fits, first read its SKILL.md and follow it.',
    ...skills.map(
      ({ name, description }) => `- ${name} (/home/agent/skills/${name}/SKILL.md): ${description}`,
    ),
  ];
}
