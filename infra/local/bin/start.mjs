import { launch } from './launch.mjs';

launch('infra/local/src/start.ts');
