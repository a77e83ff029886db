import { z } from 'zod';
import { jsonObjectSchema } from '@lemniscate/shared/json.ts';
import type { JsonObject, JsonValue } from '@lemniscate/shared/json.ts';
import { toolCatalogue } from '@lemniscate/shared/tools/catalogue.ts';
import type { ToolName } from '@lemniscate/shared/tools/catalogue.ts';
import { cut } from '../text-stream.ts';
import { scanJson } from './scan-json.ts';

/** Longest text of arguments that is looked at: the catalogue's longest file content, escaped, twice (an edit). */
const maxLength = 16 * 1024 * 1024;

/** No tool nests its arguments; deeper ones would overflow the stack of whoever walks them. */
const maxDepth = 16;

export type ParsedArguments =
  | { readonly ok: true; readonly input: JsonObject }
  | { readonly ok: false; readonly message: string };

/**
 * Parses whole arguments once and strictly. Nothing is repaired or guessed: what does not parse, names a key twice,
 * holds broken Unicode or fails the tool's schema becomes a sentence for the model.
 */
export function parseArguments(tool: ToolName, text: string): ParsedArguments {
  const read = readText(text);
  if (!read.ok) return read;
  // As it was sent: what a looser schema drops in silence has to be seen by this one.
  const parsed = toolCatalogue[tool].schema.safeParse(read.sent);
  if (parsed.success) return { ok: true, input: read.input };
  return refused(`they do not fit the tool's schema: ${z.prettifyError(parsed.error)}`, text);
}

/** The same for a tool whose schema another party has: the dispatcher holds them against it. */
export function readArguments(text: string): ParsedArguments {
  const read = readText(text);
  return read.ok ? { ok: true, input: read.input } : read;
}

type Read = Exclude<ParsedArguments, { ok: true }> | { ok: true; input: JsonObject; sent: unknown };

function readText(text: string): Read {
  if (text.length > maxLength) return refused(`they are longer than ${maxLength} characters`, text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return refused(`they are not valid JSON (${(error as Error).message})`, text);
  }
  const { duplicateKey, depth } = scanJson(text);
  if (depth > maxDepth) return refused(`they are nested deeper than ${maxDepth} levels`, text);
  if (duplicateKey !== null) return refused(`they name ${JSON.stringify(duplicateKey)} twice`, text);
  const object = jsonObjectSchema.safeParse(value);
  if (!object.success) return refused('they are not a JSON object', text);
  if (!isWellFormed(object.data))
    return refused('they hold a lone surrogate, which is not valid Unicode', text);
  return { ok: true, input: object.data, sent: value };
}

function refused(why: string, text: string): Exclude<ParsedArguments, { ok: true }> {
  const seen = text.length === 0 ? 'They were empty.' : `They began: ${cut(text, 300)}`;
  return {
    ok: false,
    message: `The arguments were refused and nothing was run: ${why}. Send the call again with whole, valid arguments. ${seen}`,
  };
}

function isWellFormed(value: JsonValue): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (value === null || typeof value !== 'object') return true;
  if (Array.isArray(value)) return value.every(isWellFormed);
  return Object.entries(value).every(([key, member]) => key.isWellFormed() && isWellFormed(member));
}
