import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generatedFiles } from './files.ts';

for (const [path, text] of generatedFiles()) writeFileSync(join(import.meta.dirname, '..', path), text);
