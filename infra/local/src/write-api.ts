import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from './project-root.ts';
import { apiTypes, apiTypesFile } from './reference/api-types.ts';

// `npm run api`: after a change of the API's routes or schemas.
writeFileSync(join(projectRoot, apiTypesFile), await apiTypes());
