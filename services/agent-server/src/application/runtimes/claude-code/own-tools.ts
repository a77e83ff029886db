import { z } from 'zod';
import type { JsonObject } from '@lemniscate/shared/json.ts';
import type { ToolName } from '@lemniscate/shared/tools/catalogue.ts';
import type { MappedCall } from '../cli/reported-calls.ts';
import { insidePath } from '../cli/inside-path.ts';

/** One of Claude Code's own tools in our words. Members that change what it does and that we do not know are refused. */
interface OwnTool {
  readonly tool: ToolName;
  map(input: JsonObject): JsonObject | null;
}

function mapped<Schema extends z.ZodType>(
  tool: ToolName,
  schema: Schema,
  map: (input: z.output<Schema>) => JsonObject,
): OwnTool {
  return {
    tool,
    map: (input) => {
      const parsed = schema.safeParse(input);
      return parsed.success ? map(parsed.data) : null;
    },
  };
}

const path = z.string().min(1);

/** The tools that a session lets Claude Code keep. Its sub-agents, web tools, notebooks and schedules are off. */
const ownTools: Readonly<Record<string, OwnTool>> = {
  Bash: mapped(
    'run_command',
    z.strictObject({
      command: z.string(),
      description: z.string().optional(),
      timeout: z.number().optional(),
      // A command in the background is one all the same; `dangerouslyDisableSandbox` would not be.
      run_in_background: z.boolean().optional(),
    }),
    ({ command, timeout }) => ({
      command,
      ...(timeout === undefined
        ? {}
        : { timeout_seconds: Math.min(86_400, Math.max(1, Math.ceil(timeout / 1000))) }),
    }),
  ),
  Write: mapped('write_file', z.strictObject({ file_path: path, content: z.string() }), (input) => ({
    path: insidePath(input.file_path),
    content: input.content,
  })),
  Edit: mapped(
    'edit_file',
    z.strictObject({
      file_path: path,
      old_string: z.string(),
      new_string: z.string(),
      replace_all: z.boolean().optional(),
    }),
    (input) =>
      // An empty text to replace makes a new file.
      input.old_string === ''
        ? { path: insidePath(input.file_path), old_text: '(nothing: a new file)', new_text: input.new_string }
        : {
            path: insidePath(input.file_path),
            old_text: input.old_string,
            new_text: input.new_string,
            ...(input.replace_all === undefined ? {} : { replace_all: input.replace_all }),
          },
  ),
  Read: mapped(
    'read_file',
    z.looseObject({ file_path: path, offset: z.int().optional(), limit: z.int().optional() }),
    ({ file_path, offset, limit }) => ({
      path: insidePath(file_path),
      ...(offset === undefined || offset < 1 ? {} : { offset }),
      ...(limit === undefined || limit < 1 ? {} : { limit: Math.min(limit, 10_000) }),
    }),
  ),
  Glob: mapped('list_files', z.looseObject({ pattern: z.string(), path: path.optional() }), (input) => ({
    path: insidePath(input.path ?? '.'),
  })),
  Grep: mapped('search_files', z.looseObject({ pattern: z.string(), path: path.optional() }), (input) => ({
    pattern: input.pattern.slice(0, 1000),
    path: insidePath(input.path ?? '.'),
  })),
};

/** Ours by the name of Claude Code's; null for a tool that is not let in. */
export function ourNameOf(name: string): ToolName | null {
  return Object.hasOwn(ownTools, name) ? (ownTools[name]?.tool ?? null) : null;
}

/** A request for one of its own tools in our words; null where it has none that we let in, or asks for more than we know. */
export function mapOwnTool(name: string, input: JsonObject): MappedCall | null {
  const own = Object.hasOwn(ownTools, name) ? ownTools[name] : undefined;
  const given = own?.map(input) ?? null;
  return own === undefined || given === null ? null : { tool: own.tool, input: given };
}

/** The names of those that do what the session's tools may do. */
export function keptTools(allowed: readonly ToolName[]): string[] {
  return Object.entries(ownTools).flatMap(([name, { tool }]) => (allowed.includes(tool) ? [name] : []));
}
