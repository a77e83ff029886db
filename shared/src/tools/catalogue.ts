import { z } from 'zod';

const path = z
  .string()
  .min(1)
  .max(4096)
  .regex(/^[^\0]+$/, 'must not hold NUL');
const text = z.string().max(4 * 1024 * 1024);

/**
 * The built-in tools: what the model is told, and the strict schema that whole arguments must pass. Unknown
 * members are refused, so that nothing is guessed from what the model meant.
 */
export const toolCatalogue = {
  read_file: {
    description:
      'Reads a text file of the working copy. Lines are numbered from 1; give offset and limit for a part.',
    schema: z.strictObject({
      path,
      offset: z.int().min(1).optional().describe('First line to read'),
      limit: z.int().min(1).max(10_000).optional().describe('Number of lines'),
    }),
  },
  write_file: {
    description: 'Writes a whole file; folders on the way are made.',
    schema: z.strictObject({ path, content: text }),
  },
  edit_file: {
    description:
      'Replaces old_text by new_text in a file. old_text must occur exactly once unless replace_all is true.',
    schema: z.strictObject({
      path,
      old_text: text.min(1),
      new_text: text,
      replace_all: z.boolean().optional(),
    }),
  },
  list_files: {
    description:
      'Lists files and folders below a folder; version-control folders and node_modules are left out.',
    schema: z.strictObject({ path: path.optional(), depth: z.int().min(1).max(10).optional() }),
  },
  search_files: {
    description: 'Searches the working copy for an extended regular expression; answers path:line:text.',
    schema: z.strictObject({ pattern: z.string().min(1).max(1000), path: path.optional() }),
  },
  run_command: {
    description: 'Runs a bash command in the working copy. There is no network. Output is cut at its bound.',
    schema: z.strictObject({
      command: z.string().min(1).max(100_000),
      timeout_seconds: z.int().min(1).max(86_400).optional(),
    }),
  },
  delegate: {
    description:
      'Hands a part of the task to a sub-agent and returns its report. It works in a session of its own, on a fresh copy of the repository as it was when this session began; it sees neither this conversation nor your changes, so the task must say all that it needs to know and what to report.',
    schema: z.strictObject({
      task: z.string().min(1).max(20_000),
      max_actions: z.int().min(1).max(1000).optional(),
      max_minutes: z.int().min(1).max(1440).optional(),
    }),
  },
  read_object: {
    description:
      'Reads the object that this session is about (a task, an issue, a pull request) as it is now, with its comments. Another object of the project can be named by its id.',
    schema: z.strictObject({ object: z.string().max(64).optional() }),
  },
  comment_object: {
    description:
      'Writes a comment on the object that this session is about. Your closing words become a comment by themselves: use this for what people should know before. "@agent" asks another agent.',
    schema: z.strictObject({
      text: z.string().min(1).max(20_000),
      reply_to: z.string().max(64).optional().describe('Id of the comment that it answers'),
    }),
  },
  set_object_status: {
    description: 'Sets the status of the object that this session is about, such as in_progress or done.',
    schema: z.strictObject({
      status: z.string().regex(/^[a-z][a-z0-9_]{0,31}$/, 'must be a word of a-z, 0-9 and "_"'),
    }),
  },
} as const;

/** Name of a built-in tool. */
export type ToolName = keyof typeof toolCatalogue;
export const toolNames = Object.keys(toolCatalogue) as [ToolName, ...ToolName[]];

/** Tools for the object that a session is about; a session without one does not have them. */
export const objectTools = ['read_object', 'comment_object', 'set_object_status'] as const;
export type ObjectToolName = (typeof objectTools)[number];

/** Tools that run inside the sandbox; the others are answered by the dispatcher with their permit. */
export type SandboxToolName = Exclude<ToolName, 'delegate' | ObjectToolName>;
export const isSandboxTool = (name: ToolName): name is SandboxToolName =>
  name !== 'delegate' && !objectTools.some((tool) => tool === name);
export const sandboxToolNames = toolNames.filter(isSandboxTool);

/** Whether the name is a built-in tool's. */
export function isToolName(name: string): name is ToolName {
  return Object.hasOwn(toolCatalogue, name);
}

/** A tool's arguments after the strict parse. */
export type ToolArguments<Name extends ToolName> = z.infer<(typeof toolCatalogue)[Name]['schema']>;
