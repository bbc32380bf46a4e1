/** `/memory`, `/verify` and `/forget`: users see, confirm and delete what is remembered about them. */
import type { Command, CommandCall } from '../protocol/command.ts';
import { GatewayError } from '../protocol/errors.ts';
import { oneLine } from '../lib/text.ts';
import type { MemoryRecord, MemoryStore } from '../protocol/store/notes.ts';
import { type Say, textRef } from '../protocol/texts/say.ts';

/** Facts in one reply. */
export const MAX_LISTED = 50;
/** Characters of a fact in the list. */
const MAX_LINE_CHARS = 300;

/** Makes the commands. */
export function createMemoryCommands(memories: MemoryStore): readonly Command[] {
  return [
    {
      name: 'memory',
      personal: true,
      description: 'about.memory',
      argument: { name: 'words', label: 'word.words', description: 'argument.memory', required: false },
      async run(call) {
        checkPlace(call);
        const facts =
          call.args === ''
            ? await memories.memories(call.memoryOwner, MAX_LISTED + 1)
            : await memories.searchMemory(call.memoryOwner, call.args, MAX_LISTED + 1);
        return listed(facts, call.args, call.say);
      },
    },
    {
      name: 'verify',
      description: 'about.verify',
      argument: { name: 'number', label: 'word.number', description: 'argument.verify', required: true },
      async run(call) {
        checkPlace(call);
        const number = numberIn(call.args);
        if (number === undefined) return call.say('verify.usage');
        const isVerified = await memories.verifyMemory(call.memoryOwner, number);
        return call.say(isVerified ? 'verify.done' : 'memory.no_number', { number });
      },
    },
    {
      name: 'forget',
      description: 'about.forget',
      argument: { name: 'number', label: 'word.number', description: 'argument.forget', required: true },
      async run(call) {
        const which = call.args.toLowerCase();
        if (which === 'all') {
          const count = await memories.deleteMemories(call.memoryOwner, 'all');
          return count === 0 ? call.say('forget.nothing') : call.say('forget.all', { facts: count });
        }
        const number = numberIn(which);
        if (number === undefined) return call.say('forget.usage');
        const count = await memories.deleteMemories(call.memoryOwner, number);
        return call.say(count === 0 ? 'memory.no_number' : 'forget.done', { number });
      },
    },
  ];
}

function numberIn(text: string): number | undefined {
  const digits = /^#?(\d{1,15})\.?$/.exec(text)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

function checkPlace({ place }: CommandCall): void {
  if (place === 'private') return;
  throw new GatewayError('not_here', textRef('memory.not_here'));
}

function listed(facts: readonly MemoryRecord[], query: string, say: Say): string {
  if (facts.length === 0) {
    return say(query === '' ? 'memory.none' : 'memory.no_match');
  }
  const lines = facts.slice(0, MAX_LISTED).map(({ id, text, untrusted }) => {
    const short = oneLine(text).slice(0, MAX_LINE_CHARS).toWellFormed();
    const ellipsis = short.length < oneLine(text).length ? '…' : '';
    return `- **${id}**: ${plain(short)}${ellipsis}${untrusted ? ` *${say('memory.unverified')}*` : ''}`;
  });
  const more = facts.length > MAX_LISTED ? `\n\n${say('memory.more')}` : '';
  const doubt = facts.some(({ untrusted }) => untrusted) ? `\n\n${say('memory.doubt')}` : '';
  return `${say('memory.list')}\n\n${lines.join('\n')}${doubt}${more}`;
}

/** Escapes Markdown: text that a web page put into a memory must not become a link. */
function plain(text: string): string {
  return text.replaceAll(/[\\`*_[\]<>~|#!&:]/g, String.raw`\$&`);
}
