/** The fields that clients may send: those of OpenAI’s requests, read from the types of its own package, and those of local servers. */
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

/** Values of the fields of local servers and their front ends, which both routes take. */
export const LOCAL: Record<string, unknown> = {
  top_k: 40,
  min_p: 0.05,
  typical_p: 0.9,
  repeat_penalty: 1.1,
  repetition_penalty: 1.1,
  repeat_last_n: 64,
  mirostat: 2,
  mirostat_tau: 5,
  mirostat_eta: 0.1,
  options: { top_k: 40 },
  think: true,
  enable_thinking: true,
  thinking: { type: 'enabled' },
  chat_template_kwargs: { enable_thinking: false },
  keep_alive: '5m',
  cache_prompt: true,
  id_slot: 0,
  include_reasoning: true,
  usage: { include: true },
  provider: { order: ['x'] },
  transforms: ['middle-out'],
  route: 'fallback',
  client_metadata: { a: 'b' },
  tfs_z: 0.5,
  top_a: 0.5,
};
