import { modelsOf } from './authorise-exchange.ts';
import type { AuthorisedCaller } from './authorise-exchange.ts';
import type { CheckDeps } from './check-exchange.ts';
import type { ErrorShape } from './wire-error.ts';

/** The models that a relay token is good for and that this fleet serves over the API, as the API lists them. */
export function listModels(
  deps: CheckDeps,
  caller: AuthorisedCaller,
  shape: ErrorShape,
): Readonly<Record<string, unknown>> {
  const served = modelsOf(caller).flatMap((model) => {
    const provider = deps.providerOf(model);
    const speaks = [...(provider?.endpoints ?? [])].some((endpoint) => endpoint.startsWith(shape));
    return provider !== undefined && speaks ? [{ model, owner: provider.name }] : [];
  });
  if (shape === 'openai')
    return {
      object: 'list',
      data: served.map(({ model, owner }) => ({ id: model, object: 'model', created: 0, owned_by: owner })),
    };
  return {
    data: served.map(({ model }) => ({
      type: 'model',
      id: model,
      display_name: model,
      created_at: '1970-01-01T00:00:00Z',
    })),
    has_more: false,
    first_id: served[0]?.model ?? null,
    last_id: served.at(-1)?.model ?? null,
  };
}
