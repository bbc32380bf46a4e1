/** The fields of OpenAI's requests, read from the types of its own package: what a client may send. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from '@babel/parser';
import { isIdentifier, isTSInterfaceDeclaration, isTSPropertySignature, traverseFast } from '@babel/types';
import { ROOT } from '../../../../architecture/imports.ts';

/** The names of an interface's properties. Throws when the package has no such interface. */
export function officialFields(file: string, name: string): string[] {
  const text = readFileSync(path.join(ROOT, 'node_modules/openai/resources', file), 'utf8');
  const tree = parse(text, { sourceType: 'module', plugins: [['typescript', { dts: true }]] });
  let found: string[] | undefined;
  traverseFast(tree, (node) => {
    if (!isTSInterfaceDeclaration(node) || node.id.name !== name) return;
    found = node.body.body.flatMap((member) =>
      isTSPropertySignature(member) && isIdentifier(member.key) ? [member.key.name] : [],
    );
  });
  if (found === undefined) throw new Error(`openai has no ${name} in ${file}`);
  return found;
}
