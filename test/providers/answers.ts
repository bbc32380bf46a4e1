/** Answers as packets, without a server: how a reader interprets them. */
import { type AnswerReader, createLineSplitter } from '../../src/providers/answers/read-answer.ts';
import { createChat } from '../../src/providers/chat.ts';
import { createLearnedModels } from '../../src/providers/discovery.ts';
import { drain } from '../contracts/model/provider.ts';

/** Streams packets through a reader; returns the chunks, the error that ended them, and whether the call completed. */
export async function readPackets(packets: readonly Uint8Array[], reader: AnswerReader) {
  const left = packets.map((packet) => Buffer.from(packet));
  const ends: boolean[] = [];
  const streamChat = createChat({
    at: {
      server: 'packets',
      host: 'http://127.0.0.1',
      setting: 'none',
      keySetting: 'none',
      start: 'nothing',
    },
    acquire: () => Promise.resolve(() => undefined),
    discovery: {
      capabilities: () =>
        Promise.resolve({ contextWindow: 4_096, tools: false, thinking: false, vision: false }),
      overflowed: () => undefined,
    },
    learned: createLearnedModels(),
    extras: [],
    options: [],
    body: () => ({}),
    send: () =>
      Promise.resolve({
        isDelimited: false,
        read: () => Promise.resolve(left.shift()),
        joinPackets: () => undefined,
        end: (complete) => void ends.push(complete),
      }),
    read: () => ({ reader, splitter: createLineSplitter() }),
  });
  const request = { model: 'any', messages: [], contextWindow: 4_096 };
  return { ...(await drain(streamChat(request, new AbortController().signal))), ends };
}
