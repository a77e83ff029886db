import openapiTypescript, { astToString, COMMENT_HEADER } from 'openapi-typescript';
import typescript from 'typescript';

/** A type that holds itself has to be named: as a member of the schemas it would be an error of the compiler. */
const json = 'type Json = null | boolean | number | string | Json[] | { [key: string]: Json };';
const jsonReference = typescript.factory.createTypeReferenceNode('Json');

/**
 * What may be left out may be undefined as well: JSON leaves such members out. The compiler's
 * exactOptionalPropertyTypes would tell the two apart.
 */
function allowUndefined(node: typescript.Node): typescript.Node {
  const { factory } = typescript;
  return typescript.visitEachChild(
    typescript.isPropertySignature(node) &&
      node.questionToken !== undefined &&
      node.type !== undefined &&
      node.type.kind !== typescript.SyntaxKind.NeverKeyword
      ? factory.updatePropertySignature(
          node,
          node.modifiers,
          node.name,
          node.questionToken,
          factory.createUnionTypeNode([
            node.type,
            factory.createKeywordTypeNode(typescript.SyntaxKind.UndefinedKeyword),
          ]),
        )
      : node,
    allowUndefined,
    undefined,
  );
}

/** Writes the types of an OpenAPI description, as `schema.ts` holds them. */
export async function generateTypes(description: object): Promise<string> {
  // As text: the generator changes what it is given.
  const nodes = await openapiTypescript(JSON.stringify(description), {
    alphabetize: true,
    inject: json,
    transform: (_schema, { path }) =>
      /^#\/components\/schemas\/JsonValue(Input)?$/.test(path ?? '') ? jsonReference : undefined,
  });
  return `${COMMENT_HEADER}${astToString(nodes.map(allowUndefined))}`;
}
