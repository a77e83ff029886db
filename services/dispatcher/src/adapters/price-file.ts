import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { z } from 'zod';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { readGivenPriceBook } from '@lemniscate/shared/model/given-price-book.ts';
import { overlayBook, withKnownIds } from '@lemniscate/shared/model/price-book.ts';
import type { PriceBook } from '@lemniscate/shared/model/price-book.ts';

/** Price books by the name of their provider, or by what its `prices` names. */
const providersSchema = z.record(z.string().min(1).max(40), z.unknown());
const fileSchema = z.strictObject({
  providers: providersSchema.default({}),
  /** What holds for one project alone, by its name. */
  projects: z.record(z.string().min(1).max(200), z.strictObject({ providers: providersSchema })).default({}),
});

/**
 * Lays the operator's file of prices over a book; without a file the book is as it is. Its version tells the file's
 * content.
 * @throws CodedError `configuration_invalid` naming file, place and fault
 */
export async function readPriceFile(file: string | undefined, book: PriceBook): Promise<PriceBook> {
  if (file === undefined) return book;
  try {
    return readPrices(await readFile(file, 'utf8'), book);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CodedError('configuration_invalid', `LEMNISCATE_PRICES: ${file}: ${why}`, { file }, error);
  }
}

/** The same from a text. */
export function readPrices(text: string, book: PriceBook): PriceBook {
  const read = fileSchema.safeParse(parse(text));
  if (!read.success) throw new CodedError('configuration_invalid', z.prettifyError(read.error));
  const { providers, projects } = read.data;
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 12);
  const version = `${book.version}+prices-${digest}`;
  const fleet = { ...layOver(book, providers, 'providers'), version };
  const own = Object.entries(projects).map(([project, { providers: given }]): [string, PriceBook] => [
    project,
    { ...layOver(fleet, given, `projects.${project}.providers`), version: `${version}/${project}` },
  ]);
  return { ...fleet, projects: new Map(own) };
}

function layOver(book: PriceBook, providers: Readonly<Record<string, unknown>>, where: string): PriceBook {
  return Object.entries(providers).reduce((lower, [provider, given]) => {
    try {
      return overlayBook(lower, withKnownIds(readGivenPriceBook(given, provider), lower));
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new CodedError('price_book_invalid', `${where}.${provider}: ${why}`, { where }, error);
    }
  }, book);
}
