import { z } from 'zod';

const cacheControl = z.strictObject({
  type: z.literal('ephemeral'),
  ttl: z.enum(['5m', '1h']).optional(),
  scope: z.string().optional(),
});
const cached = { cache_control: cacheControl.nullish() };
const citations = z.strictObject({ enabled: z.boolean() }).nullish();

const text = z.strictObject({
  type: z.literal('text'),
  text: z.string(),
  citations: z.unknown().optional(),
  ...cached,
});

/** Bytes in the request itself; a URL or a file id would make the provider fetch something. */
const imageSource = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('base64'), media_type: z.string(), data: z.string() }),
]);
const image = z.strictObject({ type: z.literal('image'), source: imageSource, ...cached });
const documentSource = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('base64'), media_type: z.string(), data: z.string() }),
  z.strictObject({ type: z.literal('text'), media_type: z.string(), data: z.string() }),
  z.strictObject({
    type: z.literal('content'),
    content: blocksOf(z.discriminatedUnion('type', [text, image])),
  }),
]);
const document = z.strictObject({
  type: z.literal('document'),
  source: documentSource,
  title: z.string().nullish(),
  context: z.string().nullish(),
  citations,
  ...cached,
});
const searchResult = z.strictObject({
  type: z.literal('search_result'),
  source: z.string(),
  title: z.string(),
  content: z.array(text),
  citations,
  ...cached,
});

/** Content is a text or a list of blocks; a text stands for one text block. */
function blocksOf<Block extends z.ZodType>(block: Block) {
  return z.preprocess(
    (content) => (typeof content === 'string' ? [{ type: 'text', text: content }] : content),
    z.array(block),
  );
}

const toolUse = z.strictObject({
  type: z.literal('tool_use'),
  id: z.string(),
  name: z.string(),
  input: z.record(z.string(), z.unknown()),
  caller: z.strictObject({ type: z.literal('direct') }).nullish(),
  ...cached,
});
const toolResult = z.strictObject({
  type: z.literal('tool_result'),
  tool_use_id: z.string(),
  content: blocksOf(z.discriminatedUnion('type', [text, image, document, searchResult])).optional(),
  is_error: z.boolean().nullish(),
  ...cached,
});
const thinking = z.strictObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.string() });
const redacted = z.strictObject({ type: z.literal('redacted_thinking'), data: z.string() });
const messageBlock = z.discriminatedUnion('type', [
  text,
  image,
  document,
  searchResult,
  toolUse,
  toolResult,
  thinking,
  redacted,
]);

/** A turn. `system` turns carry what a command line adds in the course of a session. */
export const messageSchema = z.strictObject({
  role: z.enum(['user', 'assistant', 'system']),
  content: blocksOf(messageBlock),
});

export const systemSchema = blocksOf(text);
export const cacheControlSchema = cacheControl;
