import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from '@cdktf/hcl2json';
import { z } from 'zod';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

const blocks = z.record(z.string(), z.array(z.record(z.string(), z.unknown())));
const configurationSchema = z.looseObject({
  resource: z.record(z.string(), blocks).default({}),
  data: z.record(z.string(), blocks).default({}),
  module: blocks.default({}),
  variable: blocks.default({}),
  output: blocks.default({}),
});

/** One `.tf` file, parsed by Terraform's own grammar. */
export interface ConfigurationFile {
  /** From the folder of the configuration. */
  readonly path: string;
  readonly folder: string;
  readonly text: string;
  readonly content: z.infer<typeof configurationSchema>;
}

/** Every file of the configuration. @throws where one is no HCL */
export async function readConfiguration(): Promise<ConfigurationFile[]> {
  const paths = globSync('{modules,examples}/*/*.tf', { cwd: root }).sort();
  return Promise.all(
    paths.map(async (path) => {
      const text = readFileSync(join(root, path), 'utf8');
      const content = configurationSchema.parse(await parse(path, text));
      return { path, folder: dirname(path), text, content };
    }),
  );
}

/** A resource or data source with its arguments. */
export interface Declared {
  readonly where: string;
  readonly folder: string;
  readonly kind: 'resources' | 'data';
  readonly type: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** All resources and data sources of the files. */
export function declaredIn(files: readonly ConfigurationFile[]): Declared[] {
  return files.flatMap(({ path, folder, content }) =>
    (['resource', 'data'] as const).flatMap((kind) =>
      Object.entries(content[kind]).flatMap(([type, named]) =>
        Object.entries(named).flatMap(([name, bodies]) =>
          bodies.map((body) => ({
            where: `${path}: ${type}.${name}`,
            folder,
            kind: kind === 'resource' ? ('resources' as const) : ('data' as const),
            type,
            body,
          })),
        ),
      ),
    ),
  );
}

/** An argument of the provider's schema: of a type, or a block with arguments of its own. */
export interface ArgumentShape {
  readonly required?: boolean | undefined;
  /** In Terraform's own words, such as `list(string)`. */
  readonly type?: string | undefined;
  readonly block?: Readonly<Record<string, ArgumentShape>> | undefined;
  /** A block that can stand there once. */
  readonly single?: boolean | undefined;
}

const argumentSchema: z.ZodType<ArgumentShape> = z.lazy(() =>
  z
    .strictObject({
      required: z.boolean().optional(),
      type: z.string().optional(),
      block: z.record(z.string(), argumentSchema).optional(),
      single: z.boolean().optional(),
      // a block that may be written as a list of objects as well
      attribute: z.boolean().optional(),
    })
    .refine(({ type, block }) => (type === undefined) !== (block === undefined)),
);
const shapes = z.record(z.string(), z.record(z.string(), argumentSchema));
const types = z.record(z.string(), z.record(z.string(), z.string()));
const providerSchema = z.object({
  provider: z.string(),
  resources: shapes,
  data: shapes,
  exported: z.object({ resources: types, data: types }),
});
export type ProviderSchema = z.infer<typeof providerSchema>;

/** What the provider takes; `schema/README.md` says where it comes from. */
export function readProviderSchema(): ProviderSchema {
  return providerSchema.parse(JSON.parse(readFileSync(join(root, 'schema/aws.json'), 'utf8')));
}

/** Types of the variables that some files declare, such as `list(string)`; `any` where none is named. */
export function variableTypes(files: readonly ConfigurationFile[]): Map<string, string> {
  const declared = files.flatMap(({ content }) => Object.entries(content.variable));
  return new Map(
    declared.map(([name, [variable]]) => {
      const type = variable?.['type'];
      return [name, typeof type === 'string' ? type.replace(/^\$\{([^]*)\}$/, '$1') : 'any'];
    }),
  );
}
