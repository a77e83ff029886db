import { z } from 'zod';
import { jsonValueSchema } from '../json.ts';

const text = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^[^\u0000-\u001f\u007f]+$/, 'must be one line of text');

/** Longest data of an event, as JSON text. */
const maxData = 64 * 1024;

/**
 * An event in the JSON format of CloudEvents 1.0. Extension attributes are texts, whole numbers or booleans under names of
 * lower-case letters and digits; `data_base64` is not taken: nothing here reads bytes.
 */
export const cloudEventSchema = z
  .looseObject({
    specversion: z.literal('1.0'),
    id: text(256),
    source: text(1024),
    type: text(256),
    subject: text(1024).optional(),
    time: z.iso.datetime({ offset: true }).optional(),
    datacontenttype: z
      .string()
      .max(128)
      .regex(/^application\/([\w.+-]+\+)?json(;.*)?$/, 'must be JSON')
      .optional(),
    dataschema: z.url().max(2048).optional(),
    data: jsonValueSchema
      .optional()
      .refine(
        (data) => JSON.stringify(data ?? null).length <= maxData,
        `must be at most ${maxData} characters of JSON`,
      ),
  })
  .superRefine((event, context) => {
    for (const [name, value] of Object.entries(event)) {
      if (name in known) continue;
      if (!/^[a-z0-9]{1,64}$/.test(name))
        context.addIssue({
          code: 'custom',
          path: [name.slice(0, 80)],
          message: 'no attribute of CloudEvents can be called so',
        });
      else if (!['string', 'number', 'boolean'].includes(typeof value) || String(value).length > 1024)
        context.addIssue({
          code: 'custom',
          path: [name],
          message: 'must be a short text, a number or a boolean',
        });
    }
  });
const known = {
  specversion: 1,
  id: 1,
  source: 1,
  type: 1,
  subject: 1,
  time: 1,
  datacontenttype: 1,
  dataschema: 1,
  data: 1,
};
export type CloudEvent = z.output<typeof cloudEventSchema>;
