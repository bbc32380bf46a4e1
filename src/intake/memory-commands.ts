/** `/memory`, `/verify` and `/forget`: users see, confirm and delete what is remembered about them. */
import type { Command, CommandCall } from '../contracts/command.ts';
import { GatewayError } from '../contracts/errors.ts';
import { oneLine } from '../lib/text.ts';
import type { MemoryRecord, MemoryStore } from '../contracts/store/notes.ts';

/** Facts in one reply. */
export const MAX_LISTED = 50;
/** Characters of a fact in the list. */
const MAX_LINE_CHARS = 300;

/** Makes the commands. */
export function createMemoryCommands(memories: MemoryStore): readonly Command[] {
  return [
    {
      name: 'memory',
      description: 'Show what I remember about you, or search it',
      argument: { name: 'words', description: 'Words to look for', required: false },
      async run(call) {
        checkPlace(call);
        const found =
          call.args === ''
            ? await memories.memories(call.memoryOwner, MAX_LISTED + 1)
            : await memories.searchMemory(call.memoryOwner, call.args, MAX_LISTED + 1);
        return listed(found, call.args);
      },
    },
    {
      name: 'verify',
      description: 'Confirm a fact I am unsure about',
      argument: { name: 'number', description: 'The number /memory shows', required: true },
      async run(call) {
        checkPlace(call);
        const number = numberIn(call.args);
        if (number === undefined) return 'Write /verify and a number from /memory.';
        const found = await memories.verifyMemory(call.memoryOwner, number);
        return found ? `Number ${number} is confirmed.` : nothingUnder(number);
      },
    },
    {
      name: 'forget',
      description: 'Forget one fact about you, or all',
      argument: { name: 'number', description: 'The number /memory shows, or "all"', required: true },
      async run(call) {
        const which = call.args.toLowerCase();
        if (which === 'all') {
          const gone = await memories.forget(call.memoryOwner, 'all');
          return gone === 0
            ? 'I remembered nothing about you.'
            : `I have forgotten everything about you (${gone}).`;
        }
        const number = numberIn(which);
        if (number === undefined) return 'Write /forget and a number from /memory, or /forget all.';
        const gone = await memories.forget(call.memoryOwner, number);
        return gone === 0 ? nothingUnder(number) : `Forgotten: number ${number}.`;
      },
    },
  ];
}

function numberIn(words: string): number | undefined {
  const digits = /^#?(\d{1,15})\.?$/.exec(words)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

function nothingUnder(number: number): string {
  return `There is no fact number ${number}.`;
}

function checkPlace({ place }: CommandCall): void {
  if (place === 'private') return;
  throw new GatewayError(
    'not_here',
    'Others can read this chat. Ask me in a private chat what I remember about you.',
  );
}

function listed(found: readonly MemoryRecord[], words: string): string {
  if (found.length === 0) {
    return words === '' ? 'I remember nothing about you yet.' : 'I remember nothing that matches.';
  }
  const lines = found.slice(0, MAX_LISTED).map(({ id, text, untrusted }) => {
    const short = oneLine(text).slice(0, MAX_LINE_CHARS).toWellFormed();
    const cut = short.length < oneLine(text).length ? '…' : '';
    return `- **${id}**: ${plain(short)}${cut}${untrusted ? ' *(unverified)*' : ''}`;
  });
  const more = found.length > MAX_LISTED ? '\n\nThere is more: search it with /memory and some words.' : '';
  const doubt = found.some(({ untrusted }) => untrusted)
    ? '\n\nWhile a fact is unverified, tools that reach beyond this chat ask you first. Confirm it with /verify and its number.'
    : '';
  return `What I remember about you (/forget and a number deletes one):\n\n${lines.join('\n')}${doubt}${more}`;
}

/** Escapes Markdown: text that a web page put into a memory must not become a link. */
function plain(text: string): string {
  return text.replaceAll(/[\\`*_[\]<>~|#!&:]/g, String.raw`\$&`);
}
