/** How a code is entered: a command, which each network writes in its own way. Pure. */
import type { LinkCommand } from '../../contracts/sessions/surfaces.ts';
import type { WriteCommand } from '../../contracts/isomorphic/fill-text.js';

/** A network that people can enter a code on. */
export interface LinkNetwork {
  name: string;
  label: string;
  writeCommand: WriteCommand;
}

/** Each way to write it once, with its networks; two sessions on the web cannot be linked, so `from` web names that no more. */
export function linkCommands(code: string, networks: readonly LinkNetwork[], from: string): LinkCommand[] {
  const found = new Map<string, string[]>();
  for (const { name, label, writeCommand } of networks) {
    if (name === 'http' && from === 'http') continue;
    const command = `${writeCommand('link')} ${code}`;
    found.set(command, [...(found.get(command) ?? []), label]);
  }
  return [...found].map(([command, labels]) => ({ command, networks: labels }));
}

/** One command alone, or several with their networks. */
export function inWords(commands: readonly LinkCommand[]): string {
  if (commands.length <= 1) return commands.map(({ command }) => `\`${command}\``).join('');
  return commands.map(({ command, networks }) => `\`${command}\` (${networks.join(', ')})`).join(', ');
}
