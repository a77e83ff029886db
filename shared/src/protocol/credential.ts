import { z } from 'zod';

/** Variables by which a shell or a loader runs code, or that the sandbox sets itself: no credential may be one. */
const reserved =
  'PATH|HOME|USER|LOGNAME|SHELL|IFS|ENV|ZDOTDIR|SHELLOPTS|BASHOPTS|BASH_.*|LD_.*|.*_PROXY|NODE_.*';
// a pattern without flags can be published in a JSON Schema
const inAnyCase = reserved.replaceAll(/[A-Z]/g, (letter) => `[${letter}${letter.toLowerCase()}]`);

/** Name of the environment variable that a credential is given to commands as. */
export const credentialNameSchema = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be the name of an environment variable')
  .regex(
    new RegExp(`^(?!(?:${inAnyCase})$)`),
    'this variable changes what programs run; give the credential another name',
  );
