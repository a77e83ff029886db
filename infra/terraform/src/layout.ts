import { format } from '@cdktf/hcl-tools';

/**
 * Where a file is not laid out as `terraform fmt` writes it. The spacing is by the same `hclwrite.Format`; beside it the
 * program takes away an interpolation that is all there is of a value.
 * @param path names the file in what is found
 */
export async function layoutFaults(path: string, text: string): Promise<string[]> {
  const written = (await format(text)).split('\n');
  const given = text.split('\n');
  const spacing = Array.from({ length: Math.max(written.length, given.length) }, (_, index) => index)
    .filter((index) => written[index] !== given[index])
    .map((index) => `${path}:${index + 1}: terraform fmt writes ${JSON.stringify(written[index] ?? '')}`);
  const interpolated = given.flatMap((line, index) => {
    const [, value] = /^\s*\w+\s*=\s*("\$\{[^{}"]*\}")\s*$/.exec(line) ?? [];
    return value === undefined
      ? []
      : [`${path}:${index + 1}: terraform fmt takes away the quotes of ${value}`];
  });
  return [...spacing, ...interpolated];
}
