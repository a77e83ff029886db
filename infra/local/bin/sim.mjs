import { launch } from './launch.mjs';

launch('load-tests/src/sim/main.ts');
