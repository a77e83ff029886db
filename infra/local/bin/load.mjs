import { launch } from './launch.mjs';

launch('load-tests/src/main.ts');
