/** What is a command and what is a message that only looks like one. */
import { partial } from '../fakes/partial.ts';
import { describe, expect, it } from 'vitest';
import { createCommands, listingOf, readCommands } from '../../src/intake/commands.ts';
import { inEnglish } from '../../src/protocol/texts/say.ts';

// Nothing is run here.
const commands = createCommands(partial(), []);
const read = readCommands(commands);

describe('a command', () => {
  it.each([
    ['/stop', 'stop'],
    ['/STOP', 'stop'],
    ['  /stop  ', 'stop'],
    ['/stop now, please', 'stop'],
    ['/new\nlet us begin again', 'new'],
    ['/status', 'status'],
    ['/help', 'help'],
    ['/start', 'start'],
    ['/start invite-7', 'start'],
    ['/stopp', undefined],
    ['/stop@other_bot', undefined],
    ['/stop!', undefined],
    ['//stop', undefined],
    ['/ stop', undefined],
    ['stop', undefined],
    ['please /stop', undefined],
    ['/constructor', undefined],
    ['/__proto__', undefined],
    ['/ſtop', undefined],
    ['', undefined],
    ['/', undefined],
  ])('in %j is %s', (content, name) => {
    expect(read(content)?.command.name).toBe(name);
  });

  it('receives the text after its name', () => {
    expect(read(' /new  let us\nbegin again ')?.args).toBe('let us\nbegin again');
    expect(read('/new')?.args).toBe('');
  });

  it('is in one list, which /help and /start show in groups, without a model', async () => {
    const listed = listingOf(commands);
    expect(listed.map(({ name }) => name)).toEqual(['stop', 'new', 'status', 'help']);
    const line = (wanted: string): string[] =>
      listed
        .filter(({ name }) => name === wanted)
        .map(({ name, description }) => `/${name} - ${description}`);
    const help = [
      '**Chat**',
      ...['stop', 'new', 'status'].flatMap(line),
      '',
      '**More**',
      ...line('help'),
    ].join('\n');
    const call = {
      session: 'a:1',
      address: 'a:1',
      place: 'private',
      senderId: '1',
      userId: 'a:1',
      memoryOwner: 'a:1',
      owner: false,
      args: 'x',
      say: inEnglish,
    } as const;
    expect(await read('/help')?.command.run(call)).toBe(help);
    expect(await read('/start invite-7')?.command.run(call)).toBe(
      `${inEnglish('greeting.first')}\n\n${help}`,
    );
  });

  it('has a line in /help that fits every channel, and no name twice', () => {
    const names = commands.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['stop', 'new', 'status', 'help']));
    expect(new Set(names).size).toBe(names.length);
    for (const { name, description } of listingOf(commands)) {
      expect(name).toMatch(/^[a-z]{2,32}$/);
      expect(description).toMatch(/^[A-Z].{5,99}$/);
    }
  });
});
