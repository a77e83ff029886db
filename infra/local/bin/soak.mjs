import { launch } from './launch.mjs';

launch(process.argv[2] === 'export' ? 'load-tests/src/soak/export.ts' : 'load-tests/src/soak/main.ts');
