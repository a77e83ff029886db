import { launch } from './launch.mjs';

launch('infra/local/src/console-demo.ts');
