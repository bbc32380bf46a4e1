/** Answers as packets, without a server: how a reader interprets them. */
import { ProviderError } from '../../src/contracts/errors.ts';
import { createAnswerFilter } from '../../src/providers/filter/answer-filter.ts';
import { createCallMaker, offeredTools } from '../../src/providers/answers/tool-calls.ts';
import { streamAnswer } from '../../src/providers/answers/read-answer.ts';
import type { AnswerReader } from '../../src/providers/answers/read-answer.ts';
import { createLineSplitter } from '../../src/providers/answers/text-splitters.ts';
import { drain } from '../contracts/model/provider.ts';

/** The filter for a request without tools, to a model about which nothing is known. */
const plainFilter = () =>
  createAnswerFilter({
    offered: offeredTools([]),
    makeCall: createCallMaker(offeredTools([])),
    habits: { startsInThought: false },
  });

/** Streams packets through a reader; returns the chunks, the error that ended them, and whether the call completed. */
export async function readPackets(packets: readonly Uint8Array[], reader: AnswerReader) {
  const left = packets.map((packet) => Buffer.from(packet));
  const ends: boolean[] = [];
  const stream = streamAnswer({
    acquire: () => Promise.resolve(() => undefined),
    send: () =>
      Promise.resolve({
        read: () => Promise.resolve(left.shift()),
        end: (complete) => void ends.push(complete),
      }),
    reader,
    splitter: createLineSplitter(),
    filter: plainFilter(),
    toError: (error) =>
      error instanceof ProviderError ? error : new ProviderError('aborted', `not expected: ${String(error)}`),
  });
  return { ...(await drain(stream)), ends };
}
