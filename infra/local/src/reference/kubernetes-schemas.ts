import { validate as deployment } from 'kubernetes-models/_schemas/IoK8sApiAppsV1Deployment';
import { validate as configMap } from 'kubernetes-models/_schemas/IoK8sApiCoreV1ConfigMap';
import { validate as namespace } from 'kubernetes-models/_schemas/IoK8sApiCoreV1Namespace';
import { validate as service } from 'kubernetes-models/_schemas/IoK8sApiCoreV1Service';
import { validate as networkPolicy } from 'kubernetes-models/_schemas/IoK8sApiNetworkingV1NetworkPolicy';
import { validate as disruptionBudget } from 'kubernetes-models/_schemas/IoK8sApiPolicyV1PodDisruptionBudget';

/** Kubernetes' published schemas, compiled; each leaves what it found in `errors`. */
const schemas: Readonly<Record<string, (data: unknown) => boolean>> = {
  'apps/v1 Deployment': deployment,
  'v1 ConfigMap': configMap,
  'v1 Namespace': namespace,
  'v1 Service': service,
  'networking.k8s.io/v1 NetworkPolicy': networkPolicy,
  'policy/v1 PodDisruptionBudget': disruptionBudget,
};

type Tree = Readonly<Record<string, unknown>>;

/**
 * What is wrong with a manifest by the published schema of its kind. The schemas forbid no unknown field, and the API
 * server drops one in silence: a field that the schema never looked at is therefore told as well.
 */
export function manifestFaults(manifest: Tree): readonly string[] {
  const kind = `${String(manifest['apiVersion'])} ${String(manifest['kind'])}`;
  const validate = schemas[kind];
  if (validate === undefined) return [`there is no schema of ${kind}`];
  const looked = new Set<string>();
  if (!validate(watched(manifest, '', looked)))
    return [JSON.stringify((validate as { readonly errors?: unknown }).errors)];
  return pathsIn(manifest, '')
    .filter((path) => !looked.has(path))
    .map((path) => `${kind} knows no ${path}`);
}

/** The same tree, which notes each path that is read. */
function watched(tree: object, at: string, looked: Set<string>): object {
  return new Proxy(tree, {
    get: (target, name, receiver) => {
      const value: unknown = Reflect.get(target, name, receiver);
      if (typeof name !== 'string') return value;
      const path = `${at}/${name}`;
      looked.add(path);
      return typeof value === 'object' && value !== null ? watched(value, path, looked) : value;
    },
  });
}

/** Members that hold names of the writer's own, which a schema does not go through. */
const free: ReadonlySet<string> = new Set([
  'labels',
  'matchLabels',
  'annotations',
  'data',
  'requests',
  'limits',
]);

function pathsIn(tree: object, at: string): readonly string[] {
  return Object.entries(tree).flatMap(([name, value]: [string, unknown]) => {
    const path = `${at}/${name}`;
    if (typeof value !== 'object' || value === null || free.has(name)) return [path];
    return [path, ...pathsIn(value, path)];
  });
}
