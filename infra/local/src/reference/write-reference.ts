import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../project-root.ts';
import { configurationReference } from './configuration.ts';

writeFileSync(join(projectRoot, 'docs/operations/configuration.md'), configurationReference(projectRoot));
