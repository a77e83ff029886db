import type { ArgumentShape, Declared } from './configuration.ts';

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

/** Every argument of a resource that its provider does not know, and every one that it wants and that is missing. */
export function argumentFaults(declared: Declared, shapes: Shapes | undefined): string[] {
  if (shapes === undefined) return [`${declared.where}: the schema has no ${declared.type}`];
  return faultsOf(declared.where, declared.body, shapes, true);
}

function faultsOf(
  where: string,
  body: Readonly<Record<string, unknown>>,
  shapes: Shapes,
  outermost: boolean,
): string[] {
  const faults: string[] = [];
  for (const [name, value] of Object.entries(body)) {
    if (outermost && metaArguments.has(name)) continue;
    const shape = shapes[name];
    if (shape === undefined) faults.push(`${where}: there is no argument ${name}`);
    else if (shape.block !== undefined)
      for (const inner of blocksOf(value))
        faults.push(...faultsOf(`${where}.${name}`, inner, shape.block, false));
  }
  for (const [name, { required }] of Object.entries(shapes))
    if (required === true && body[name] === undefined) faults.push(`${where}: ${name} is missing`);
  return faults;
}

function blocksOf(value: unknown): Readonly<Record<string, unknown>>[] {
  const values: unknown[] = Array.isArray(value) ? value : [value];
  return values.filter(
    (inner): inner is Readonly<Record<string, unknown>> => typeof inner === 'object' && inner !== null,
  );
}
