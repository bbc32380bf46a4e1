/** `/trust`: what an owner reads, and who may not use it. */
import { partial } from '../fakes/partial.ts';
import { expect, it } from 'vitest';
import type { Source } from '../../src/protocol/agent/risk.ts';
import { trustCommand } from '../../src/intake/session-commands.ts';
import { inEnglish } from '../../src/protocol/texts/say.ts';

const call = (owner: boolean) => ({
  session: 'telegram:1' as const,
  address: 'telegram:1' as const,
  senderId: '1',
  userId: 'telegram:1',
  memoryOwner: 'telegram:1',
  owner,
  args: '',
  say: inEnglish,
});

/** The command for a session with these sources; undefined = a turn is open. */
function trust(sources: readonly Source[] | undefined) {
  const trusted: string[] = [];
  const command = trustCommand(
    partial({
      trustSession: async (key) => {
        trusted.push(key);
        return sources;
      },
    }),
  );
  return { trusted, run: (owner = true) => command.run(call(owner)) };
}

it('says what was untrusted', async () => {
  const { run, trusted } = trust(['web:evil.example', 'local']);
  expect(await run()).toContain('content from web pages (evil.example) and files');
  expect(trusted).toEqual(['telegram:1']);
  expect(await trust([]).run()).toContain('Nothing was changed');
  expect(await trust(['verified']).run()).toContain('Nothing was changed');
});

it('is for owners only, and not while an answer is running', async () => {
  const { run, trusted } = trust(['web']);
  await expect(run(false)).rejects.toMatchObject({ code: 'forbidden' });
  expect(trusted).toEqual([]);
  await expect(trust(undefined).run()).rejects.toMatchObject({ code: 'busy' });
});
