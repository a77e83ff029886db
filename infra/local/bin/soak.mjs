import { launch } from './launch.mjs';

launch('load-tests/src/soak.ts');
launch('load-tests/src/soak/main.ts');
