/** How a code for another chat is shown: in each network's command syntax. */
import { expect, it } from 'vitest';
import { channels } from '../../../channels/index.ts';
import { listCommands, linkCommands } from '../../../src/intake/surfaces/surface-text.ts';

const networks = channels.map(({ name, label, writeCommand }) => ({
  name,
  label,
  writeCommand: (command: string) => writeCommand(command, {}),
}));
const CODE = 'ABCDE-FGHIJ';

it('is shown once for each way of writing it, with its networks', () => {
  expect(listCommands(linkCommands(CODE, networks, 'telegram'))).toBe(
    '`/link ABCDE-FGHIJ` (Web, Telegram, Discord), `/parley link ABCDE-FGHIJ` (Slack), `!link ABCDE-FGHIJ` (Matrix)',
  );
});

it('is one command where all networks write it alike', () => {
  const alike = networks.filter(({ name }) => ['http', 'telegram'].includes(name));
  expect(listCommands(linkCommands(CODE, alike, 'telegram'))).toBe('`/link ABCDE-FGHIJ`');
});

it('does not name the web to the web, whose sessions cannot be linked with each other', () => {
  expect(linkCommands(CODE, networks, 'http')[0]).toEqual({
    command: '/link ABCDE-FGHIJ',
    networks: ['Telegram', 'Discord'],
  });
});
