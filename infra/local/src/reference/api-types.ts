import { generateTypes } from '@lemniscate/api/generate.ts';
import { describePublicApi } from '@lemniscate/dispatcher/http/describe-public-api.ts';

/** Where the types of the public API lie, from the project root. */
export const apiTypesFile = 'clients/api/src/schema.ts';

/** The types of the public API as its routes describe it now. */
export async function apiTypes(): Promise<string> {
  return generateTypes(await describePublicApi());
}
