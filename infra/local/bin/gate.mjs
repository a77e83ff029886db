import { launch } from './launch.mjs';

launch('gate');
