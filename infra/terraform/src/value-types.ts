/** What the types of a folder's expressions are read from. */
export interface Scope {
  /** Types of its variables as they are declared, such as `list(string)`. */
  readonly variables: ReadonlyMap<string, string>;
  /** Type of an attribute of a resource (`aws_lb`) or data source (`data.aws_lb`); undefined where it has no one type. */
  readonly attribute: (type: string, name: string) => string | undefined;
}

/** What a function of Terraform's gives. */
const functions: Readonly<Record<string, string>> = {
  jsonencode: 'string',
  base64encode: 'string',
  templatefile: 'string',
  file: 'string',
  join: 'string',
  format: 'string',
  sha256: 'string',
  length: 'number',
  floor: 'number',
  ceil: 'number',
  concat: 'list(any)',
  keys: 'list(string)',
  values: 'list(any)',
  toset: 'list(any)',
  merge: 'map(any)',
};

/**
 * Whether Terraform takes a value, as `hcl2json` gives it, where a type is wanted: it makes strings of numbers and truths,
 * and numbers and truths of strings that are written so. An expression whose type cannot be told here is taken.
 */
export function fits(value: unknown, wanted: string, scope: Scope): boolean {
  if (value === null || value === undefined || wanted === 'any') return true;
  const { kind, inner } = taken(wanted);
  if (Array.isArray(value)) return kind === 'list' && value.every((each) => fits(each, inner, scope));
  if (typeof value === 'object')
    return (
      kind === 'object' || (kind === 'map' && Object.values(value).every((each) => fits(each, inner, scope)))
    );
  if (typeof value !== 'string') return kind === 'string' || kind === scalarOf(value);
  const expression = wholeExpression(value);
  if (expression !== undefined) {
    const type = expressionType(expression, scope);
    return type === undefined || converts(type, wanted);
  }
  if (kind === 'number') return /^-?\d+(\.\d+)?$/.test(value);
  if (kind === 'bool') return value === 'true' || value === 'false';
  return kind === 'string';
}

const scalarOf = (value: unknown): string => (typeof value === 'boolean' ? 'bool' : typeof value);

/** `list(string)` apart; a set is like a list, and what an object holds is not looked at. */
function taken(type: string): { kind: string; inner: string } {
  const [, outer = '', inner = ''] = /^(list|set|map)\(([^]*)\)$/.exec(type) ?? [];
  if (outer !== '') return { kind: outer === 'set' ? 'list' : outer, inner };
  return { kind: type.startsWith('object') ? 'object' : type, inner: 'any' };
}

function converts(from: string, to: string): boolean {
  if (from === 'any' || to === 'any') return true;
  const [one, other] = [taken(from), taken(to)];
  if (one.kind === other.kind) return converts(one.inner, other.inner);
  return other.kind === 'string' && (one.kind === 'number' || one.kind === 'bool');
}

/** What stands in `${…}` where that is all of a text; undefined for a text with something around it. */
function wholeExpression(text: string): string | undefined {
  const [, inner] = /^\$\{([^]*)\}$/.exec(text) ?? [];
  return inner !== undefined && closesAtEnd(inner, '{', '}') ? inner : undefined;
}

/** Whether nothing closes in a text that it did not open. */
function closesAtEnd(text: string, open: string, close: string): boolean {
  let depth = 0;
  for (const letter of text) {
    if (letter === open) depth += 1;
    if (letter === close) depth -= 1;
    if (depth < 0) return false;
  }
  return true;
}

/** The type of an expression; undefined where it is none of the plain ones. */
function expressionType(expression: string, scope: Scope): string | undefined {
  if (expression === 'each.key') return 'string';
  const [, variable, part] = /^var\.(\w+)(\[[^\]]+\])?$/.exec(expression) ?? [];
  if (variable !== undefined) {
    const type = scope.variables.get(variable);
    return type === undefined || part === undefined ? type : taken(type).inner;
  }
  const [, data = '', type, each, attribute = ''] =
    /^(data\.)?(aws_\w+)\.\w+(\[[^\]]+\])?\.(\w+)$/.exec(expression) ?? [];
  if (type !== undefined) {
    const one = scope.attribute(`${data}${type}`, attribute);
    return one !== undefined && each === '[*]' ? `list(${one})` : one;
  }
  const [, name = '', given = ''] = /^(\w+)\(([^]*)\)$/.exec(expression) ?? [];
  return closesAtEnd(given, '(', ')') ? functions[name] : undefined;
}
