/** How to enter a code: a command, which each network writes in its own way. Pure. */
import type { LinkCommand } from '../../protocol/sessions/surfaces.ts';
import type { WriteCommand } from '../../protocol/isomorphic/fill-text.js';

/** A network on which people can enter a code. */
export interface LinkNetwork {
  name: string;
  label: string;
  writeCommand: WriteCommand;
}

/**
 * Each spelling once, with its networks; two web sessions cannot be linked, so it is left out when `from` is the web.
 */
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
export function listCommands(commands: readonly LinkCommand[]): string {
  if (commands.length <= 1) return commands.map(({ command }) => `\`${command}\``).join('');
  return commands.map(({ command, networks }) => `\`${command}\` (${networks.join(', ')})`).join(', ');
}
