import { launch } from './launch.mjs';

// `npm run soak -- export …` ships an audit log through faults; without that word a whole fleet works for an hour.
launch(process.argv[2] === 'export' ? 'load-tests/src/soak/export.ts' : 'load-tests/src/soak/main.ts');
