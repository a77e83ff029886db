import { launch } from './launch.mjs';

launch('load-tests/src/chaos/main.ts');
