import { parse } from 'yaml';
import { readStack } from './test-failure.ts';
import type { Leaf, TestFailure } from './test-failure.ts';

function leavesOf(value: unknown): Leaf[] {
  if (value === undefined) return [];
  if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return [value as Leaf];
  if (typeof value === 'object') return Object.values(value).flatMap(leavesOf);
  return [];
}

function readDetails(block: string): Readonly<Record<string, unknown>> {
  try {
    const details: unknown = parse(block, { logLevel: 'silent' });
    return typeof details === 'object' && details !== null ? { ...details } : {};
  } catch {
    // The runner prints values that are no YAML (functions, symbols): such a failure is known by its name alone.
    return {};
  }
}

/** Failures of node's TAP reporter: `not ok` lines, each with a YAML block. */
export function parseTapFailures(output: string): TestFailure[] {
  const found = output.matchAll(/^( *)not ok \d+ - (.*)\n\1 {2}---\n([\s\S]*?)\n\1 {2}\.\.\.$/gm);
  return [...found].flatMap(([, indent = '', name = '', block = '']): TestFailure[] => {
    const margin = new RegExp(`^ {0,${indent.length + 2}}`, 'gm');
    const details = readDetails(block.replace(margin, ''));
    if (details['failureType'] === 'subtestsFailed') return [];
    const file = /^(.*):\d+:\d+$/.exec(String(details['location'] ?? ''))?.[1];
    return [
      {
        name: name.replace(/ #.*$/, ''),
        ...(file === undefined ? {} : { file }),
        message: String(details['error'] ?? '').trim(),
        expected: leavesOf(details['expected']),
        actual: leavesOf(details['actual']),
        operator: String(details['operator'] ?? ''),
        stack: readStack(String(details['stack'] ?? '')),
      },
    ];
  });
}
