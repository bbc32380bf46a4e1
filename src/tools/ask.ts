/** The tool `ask`: a question to another person; the turn waits until they answer, refuse, or time is up. */
import { z } from 'zod';
import { ASK_TOOL, MAX_QUESTION_CHARS, NO_QUESTIONS } from '../protocol/agent/approvals.ts';
import type { ChatSettingStore } from '../protocol/channel.ts';
import type { FindChat } from '../protocol/delivery.ts';
import { ToolError } from '../protocol/errors.ts';
import { textRef } from '../protocol/texts/say.ts';
import { defineTool, type Tool } from '../protocol/agent/tool.ts';
import { chatOf, whyNoChat } from './message.ts';

const parameters = z.strictObject({
  to: z
    .string()
    .trim()
    .min(1)
    .max(300)
    .describe('The name of a person who has written to this bot, or their address.'),
  question: z
    .string()
    .trim()
    .min(1)
    .max(MAX_QUESTION_CHARS)
    .describe('Everything they need to know: they see nothing of this conversation.'),
});

/** Makes the tool. `chatSettings` has who is never asked. */
export function createAsk(findChat: FindChat, chatSettings: Pick<ChatSettingStore, 'chatSetting'>): Tool {
  return defineTool({
    name: ASK_TOOL,
    description:
      'For an owner: ask another person, in their private chat with this bot, and wait for the answer, which may take ' +
      'hours. They see who asks, and may refuse. A chat on the page is named by its address. Only for what they alone can say; to inform someone, use the tool message.',
    parameters,
    effect: 'idempotent',
    risk: () => 'caution',
    results: 'person',
    reach: () => 'outside',
    lasting: ({ to }) => textRef('lasting.question', { to }),
    async target({ to }, caller) {
      const chat = await chatOf(findChat, to, caller, true);
      return chat.kind === 'found' && chat.other !== undefined
        ? { address: chat.address, label: chat.other.label }
        : undefined;
    },
    async question({ to, question: text }: z.infer<typeof parameters>, caller) {
      if (caller.userRole !== 'owner') throw notAsked('only an owner of this bot can have others asked.');
      const chat = await chatOf(findChat, to, caller, true);
      if (chat.kind !== 'found') throw notAsked(whyNoChat(chat, to));
      const { other, address } = chat;
      if (other === undefined) throw notAsked('that is the person you are talking with: ask in your answer.');
      const { place, userId, label } = other;
      if (place !== 'private' || userId === undefined)
        throw notAsked(
          'a question goes to one person, in their private chat or their chat on the page. Use the tool message.',
        );
      if (userId === caller.userId)
        throw notAsked('that is the person you are talking with: ask in your answer.');
      if ((await chatSettings.chatSetting(userId, NO_QUESTIONS)) !== undefined)
        throw notAsked('this person does not want to be asked for others. Tell the user.');
      return { address, userId, label, text };
    },
    execute: () => Promise.reject(new ToolError('unavailable', 'No one can be asked here.')),
  });
}

function notAsked(reason: string): ToolError {
  return new ToolError('not_asked', `Not asked: ${reason}`);
}
