import type { AnyNode, Program } from 'acorn';
import type { Harness } from './harness.ts';
import type { Machine } from './machine.ts';
import { readMember, writeMember } from './members.ts';
import { declare, findCell, innerScope } from './scope.ts';
import type { Cell, Scope } from './scope.ts';
import { guestFunction, guestObject, isKind, toText, unknowable } from './values.ts';
import type { Value } from './values.ts';

/** A file as the rehearsal needs it. */
export interface ModuleText {
  readonly path: string;
  readonly program: Program;
}

type Exports = Map<string, Cell>;
const cellOf = (value: Value): Cell => ({ value, isReady: true, isConstant: true });
const nameOf = (node: AnyNode): string =>
  node.type === 'Identifier'
    ? node.name
    : node.type === 'Literal'
      ? String(node.value)
      : unknowable('a name');

function declaredNames(node: AnyNode): string[] {
  if (node.type === 'VariableDeclaration') {
    return node.declarations.map(({ id }) => (id.type === 'Identifier' ? id.name : unknowable('an export')));
  }
  return node.type === 'FunctionDeclaration' || node.type === 'ClassDeclaration' ? [node.id?.name ?? ''] : [];
}

/** Loads modules on demand; `find` answers what a specifier of a file names, if it has been read. */
export function createModules(options: {
  readonly machine: Machine;
  readonly globals: Scope;
  readonly harness: Harness;
  readonly find: (importer: string, specifier: string) => ModuleText | undefined;
}): { readonly load: (file: ModuleText) => Exports } {
  const { machine, globals, harness, find } = options;
  const loaded = new Map<string, Exports>();

  const builtIn: Readonly<Record<string, Value>> = {
    test: harness.testModule,
    assert: harness.assertLoose,
    'assert/strict': harness.assertStrict,
  };

  function builtInExports(specifier: string): Exports | undefined {
    const value = builtIn[specifier.replace(/^node:/, '')];
    if (!isKind(value, 'function')) return undefined;
    return new Map([...value.members].map(([name, member]) => [name, cellOf(member)]));
  }

  function exportsOf(importer: string, specifier: string): Exports | undefined {
    const known = builtInExports(specifier);
    if (known !== undefined) return known;
    const file = find(importer, specifier);
    return file === undefined ? undefined : load(file);
  }

  function linkImport(
    node: Extract<AnyNode, { type: 'ImportDeclaration' }>,
    file: ModuleText,
    scope: Scope,
  ): void {
    const specifier = String(node.source.value);
    const from = exportsOf(file.path, specifier);
    const opaque = (name: string): Cell => cellOf({ kind: 'opaque', name: `${name} of ${specifier}` });
    for (const one of node.specifiers) {
      if (one.type === 'ImportNamespaceSpecifier') {
        const space = guestObject();
        for (const [name, cell] of from ?? []) space.members.set(name, cell.value);
        scope.cells.set(one.local.name, from === undefined ? opaque('*') : cellOf(space));
        continue;
      }
      const name = one.type === 'ImportDefaultSpecifier' ? 'default' : nameOf(one.imported);
      scope.cells.set(one.local.name, from?.get(name) ?? opaque(name));
    }
  }

  function noteExport(node: AnyNode, file: ModuleText, scope: Scope, exports: Exports): void {
    if (node.type === 'ExportAllDeclaration') {
      for (const [name, cell] of exportsOf(file.path, String(node.source.value)) ?? [])
        exports.set(name, cell);
    }
    if (node.type !== 'ExportNamedDeclaration') return;
    const from = node.source == null ? undefined : exportsOf(file.path, String(node.source.value));
    for (const one of node.specifiers) {
      const name = nameOf(one.local);
      const cell = node.source == null ? findCell(scope, name) : from?.get(name);
      if (cell !== undefined) exports.set(nameOf(one.exported), cell);
    }
    for (const name of node.declaration == null ? [] : declaredNames(node.declaration)) {
      const cell = findCell(scope, name);
      if (cell !== undefined) exports.set(name, cell);
    }
  }

  /** The statement inside an export, as the module runs it. */
  function runTopLevel(node: AnyNode, scope: Scope, exports: Exports): void {
    if (node.type === 'ImportDeclaration' || node.type === 'ExportAllDeclaration') return;
    if (node.type === 'ExportNamedDeclaration') {
      if (node.declaration != null) machine.execute(node.declaration, scope);
      return;
    }
    if (node.type !== 'ExportDefaultDeclaration') {
      machine.execute(node, scope);
      return;
    }
    const { declaration } = node;
    if (!declaration.type.endsWith('Declaration')) {
      exports.set('default', cellOf(machine.evaluate(declaration, scope)));
      return;
    }
    machine.execute(declaration, scope);
    const name =
      'id' in declaration && declaration.id?.type === 'Identifier' ? declaration.id.name : 'default';
    exports.set('default', findCell(scope, name) ?? cellOf(undefined));
  }

  function addRequire(scope: Scope, file: ModuleText): Value {
    const module = guestObject();
    const own = guestObject();
    module.members.set('exports', own);
    declare(scope, 'module', module);
    declare(scope, 'exports', own);
    const require = guestFunction('require', (_self, [wanted]): Value => {
      const specifier = toText(wanted);
      const known = builtIn[specifier.replace(/^node:/, '')];
      if (known !== undefined) return known;
      const from = exportsOf(file.path, specifier);
      if (from === undefined) return { kind: 'opaque', name: specifier };
      const whole = from.get('module.exports');
      if (whole !== undefined) return whole.value;
      const space = guestObject();
      for (const [name, cell] of from) writeMember(space, name, cell.value);
      return space;
    });
    declare(scope, 'require', require);
    return module;
  }

  function load(file: ModuleText): Exports {
    const known = loaded.get(file.path);
    if (known !== undefined) return known;
    const exports: Exports = new Map();
    loaded.set(file.path, exports);
    const scope = innerScope(globals, { value: undefined });
    const module = addRequire(scope, file);
    const { body } = file.program;
    for (const node of body) if (node.type === 'ImportDeclaration') linkImport(node, file, scope);
    machine.hoist(body, scope);
    // Known before the body runs, for modules that import each other.
    for (const node of body) noteExport(node, file, scope, exports);
    for (const node of body) runTopLevel(node, scope, exports);
    for (const node of body) noteExport(node, file, scope, exports);
    addCommonJs(exports, readMember(module, 'exports', machine.spend));
    return exports;
  }

  function addCommonJs(exports: Exports, value: Value): void {
    const isUsed = !isKind(value, 'object') || value.members.size > 0;
    if (!isUsed) return;
    exports.set('module.exports', cellOf(value));
    exports.set('default', cellOf(value));
    if (!isKind(value, 'object')) return;
    for (const [name, member] of value.members) exports.set(name, cellOf(member));
  }

  return { load };
}
