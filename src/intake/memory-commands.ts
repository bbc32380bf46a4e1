/** `/memory`, `/verify` and `/forget`: what is remembered about a user is theirs to see, to vouch for and to take back. */
import type { Command, CommandCall } from '../contracts/command.ts';
import { GatewayError } from '../contracts/errors.ts';
import { oneLine } from '../lib/text.ts';
import type { MemoryRecord, MemoryStore } from '../contracts/notes.ts';

/** Facts in one reply. */
export const MAX_LISTED = 50;
/** Characters of a fact in the list. */
const MAX_LINE_CHARS = 300;

/** The commands over the store. */
export function createMemoryCommands(memories: MemoryStore): readonly Command[] {
  return [
    {
      name: 'memory',
      description: 'What I remember about you, or what of it matches some words',
      argument: { name: 'words', description: 'Words to look for', required: false },
      async run(call) {
        checkPlace(call);
        const found =
          call.args === ''
            ? await memories.memories(call.userId, MAX_LISTED + 1)
            : await memories.searchMemory(call.userId, call.args, MAX_LISTED + 1);
        return listed(found, call.args);
      },
    },
    {
      name: 'verify',
      description: 'Say that an unverified thing I remember about you is right',
      argument: { name: 'number', description: 'The number /memory shows', required: true },
      async run(call) {
        checkPlace(call);
        const number = numberIn(call.args);
        if (number === undefined) return 'Write /verify with a number that /memory shows.';
        const found = await memories.verifyMemory(call.userId, number);
        return found ? `Number ${number} is your own word now.` : nothingUnder(number);
      },
    },
    {
      name: 'forget',
      description: 'Forget one thing I remember about you, or all',
      argument: { name: 'number', description: 'The number /memory shows, or "all"', required: true },
      async run(call) {
        const which = call.args.toLowerCase();
        if (which === 'all') {
          const gone = await memories.forget(call.userId, 'all');
          return gone === 0 ? 'There was nothing to forget.' : `I have forgotten all of it (${gone}).`;
        }
        const number = numberIn(which);
        if (number === undefined) return 'Write /forget with a number that /memory shows, or /forget all.';
        const gone = await memories.forget(call.userId, number);
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
  return `I remember nothing under number ${number}.`;
}

function checkPlace({ place }: CommandCall): void {
  if (place === 'private') return;
  throw new GatewayError(
    'not_here',
    'Others read this chat. Ask me in a private one what I remember about you.',
  );
}

function listed(found: readonly MemoryRecord[], words: string): string {
  if (found.length === 0) {
    return words === '' ? 'I remember nothing about you yet.' : 'I remember nothing with these words.';
  }
  const lines = found.slice(0, MAX_LISTED).map(({ id, text, untrusted }) => {
    const short = oneLine(text).slice(0, MAX_LINE_CHARS).toWellFormed();
    const cut = short.length < oneLine(text).length ? '…' : '';
    return `- **${id}**: ${plain(short)}${cut}${untrusted ? ' *(unverified)*' : ''}`;
  });
  const more = found.length > MAX_LISTED ? '\n\nThere is more: /memory and some words find it.' : '';
  const doubt = found.some(({ untrusted }) => untrusted)
    ? '\n\nWhile something is unverified, what reaches beyond a chat asks you first. /verify and a number: it is right.'
    : '';
  return `What I remember about you (/forget and a number takes one away):\n\n${lines.join('\n')}${doubt}${more}`;
}

/** Without Markdown's marks having any effect: what a page left in a memory must not become a link. */
function plain(text: string): string {
  return text.replaceAll(/[\\`*_[\]<>~|#!&:]/g, String.raw`\$&`);
}
