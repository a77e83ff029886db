import { launch } from './launch.mjs';

launch('infra/local/src/test.ts');
