import { GuestThrow, guestError, unknowable } from './values.ts';
import type { Value } from './values.ts';

/** A variable; importers share the exporter's. */
export interface Cell {
  value: Value;
  isReady: boolean;
  readonly isConstant: boolean;
}

export interface Scope {
  readonly cells: Map<string, Cell>;
  readonly outer: Scope | undefined;
  /** `this` of the function around; arrow functions have none of their own. */
  readonly self?: { value: Value; readonly home?: Value };
}

export function innerScope(outer: Scope | undefined, self?: Scope['self']): Scope {
  return { cells: new Map(), outer, ...(self && { self }) };
}

export function declare(scope: Scope, name: string, value: Value, isConstant = false): void {
  const cell = scope.cells.get(name);
  // Hoisted names are taken by importers before they have a value: the cell stays the same.
  if (cell !== undefined && !cell.isReady && cell.isConstant === isConstant) {
    cell.value = value;
    cell.isReady = true;
    return;
  }
  scope.cells.set(name, { value, isReady: true, isConstant });
}

export function reserve(scope: Scope, name: string, isConstant: boolean): void {
  if (!scope.cells.has(name)) scope.cells.set(name, { value: undefined, isReady: false, isConstant });
}

export function findCell(scope: Scope, name: string): Cell | undefined {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.outer) {
    const cell = at.cells.get(name);
    if (cell !== undefined) return cell;
  }
  return undefined;
}

export function readName(scope: Scope, name: string): Value {
  const cell = findCell(scope, name);
  // A global that is not known here, or a name that is nowhere: only the real run can tell.
  if (cell === undefined) return unknowable(name);
  if (!cell.isReady) {
    throw new GuestThrow(guestError('ReferenceError', `Cannot access '${name}' before initialization`));
  }
  return cell.value;
}

export function writeName(scope: Scope, name: string, value: Value): void {
  const cell = findCell(scope, name);
  if (cell === undefined) return unknowable(name);
  if (cell.isConstant) throw new GuestThrow(guestError('TypeError', 'Assignment to constant variable.'));
  cell.value = value;
}

export function selfOf(scope: Scope): NonNullable<Scope['self']> | undefined {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.outer) {
    if (at.self !== undefined) return at.self;
  }
  return undefined;
}
