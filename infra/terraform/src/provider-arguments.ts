import type { ArgumentShape, Declared, ProviderSchema } from './configuration.ts';
import { fits } from './value-types.ts';
import type { Scope } from './value-types.ts';

/** What Terraform itself takes in every resource. */
const metaArguments: ReadonlySet<string> = new Set([
  'for_each',
  'count',
  'depends_on',
  'lifecycle',
  'provider',
  'provisioner',
  'connection',
]);

type Shapes = Readonly<Record<string, ArgumentShape>>;
type Body = Readonly<Record<string, unknown>>;

/**
 * Every argument of a resource that its provider does not know, every one that it wants and that is missing, and every value
 * and block that is not of its type.
 */
export function argumentFaults(declared: Declared, shapes: Shapes | undefined, scope: Scope): string[] {
  if (shapes === undefined) return [`${declared.where}: the schema has no ${declared.type}`];
  const own = Object.entries(declared.body).filter(([name]) => !metaArguments.has(name));
  return faultsOf(declared.where, Object.fromEntries(own), shapes, scope);
}

function faultsOf(where: string, body: Body, shapes: Shapes, scope: Scope): string[] {
  const faults: string[] = [];
  for (const [name, value] of Object.entries(body)) {
    const shape = shapes[name];
    if (shape === undefined) faults.push(`${where}: there is no argument ${name}`);
    else if (shape.block !== undefined) {
      const blocks = blocksOf(value);
      if (blocks === undefined) faults.push(`${where}: ${name} is a block, and is given a value`);
      else if (shape.single === true && blocks.length > 1)
        faults.push(`${where}: there can be one ${name}, and there are ${blocks.length}`);
      for (const inner of blocks ?? [])
        faults.push(...faultsOf(`${where}.${name}`, inner, shape.block, scope));
    } else if (!fits(value, shape.type ?? 'any', scope))
      faults.push(`${where}: ${name} is no ${shape.type}: ${JSON.stringify(value)}`);
  }
  for (const [name, { required }] of Object.entries(shapes))
    if (required === true && body[name] === undefined) faults.push(`${where}: ${name} is missing`);
  return faults;
}

function blocksOf(value: unknown): Body[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const blocks = value.filter((inner): inner is Body => typeof inner === 'object' && inner !== null);
  return blocks.length === value.length ? blocks : undefined;
}

/** Type of an attribute that others may refer to; undefined where there is none of the name, `any` for what is nested. */
export function attributeType(schema: ProviderSchema, type: string, name: string): string | undefined {
  const kind = type.startsWith('data.') ? 'data' : 'resources';
  const plain = type.replace(/^data\./, '');
  const argument = schema[kind][plain]?.[name];
  if (argument !== undefined) return argument.type ?? 'any';
  return schema.exported[kind][plain]?.[name];
}

/** Every reference of a text to an attribute that its resource or data source does not have. */
export function referenceFaults(where: string, text: string, schema: ProviderSchema): string[] {
  const references = text.matchAll(/\b((?:data\.)?aws_\w+)\.\w+(?:\[[^\]]*\])?\.(\w+)/g);
  return [...references].flatMap(([all, type = '', name = '']) =>
    attributeType(schema, type, name) === undefined ? [`${where}: ${all}: ${type} has no ${name}`] : [],
  );
}
