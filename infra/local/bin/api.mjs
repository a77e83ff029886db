import { launch } from './launch.mjs';

launch('infra/local/src/write-api.ts');
