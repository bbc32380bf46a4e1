/** Shows a question in the other chats of its session: one short line before the answer. */
import type { LaneRunner } from '../../protocol/bus.ts';
import type { AskedElsewhere } from '../../protocol/delivery.ts';
import { addressOf, type InboundMessage, parseAddress } from '../../protocol/message.ts';
import type { Ledger } from '../../protocol/store/ledger.ts';
import { escapeMarkdown } from '../../lib/markdown/escape.ts';
import { clipEnd, oneLine } from '../../lib/text.ts';
import { type LabelOf, networkOf, plainName } from './surface-text.ts';
import type { Languages } from '../../protocol/texts/languages.ts';
import type { Say } from '../../protocol/texts/say.ts';

/** Longest part of a question that is repeated, in UTF-16 units. */
const MAX_REPEATED = 300;

export interface AskedElsewhereDeps {
  ledger: Pick<Ledger, 'enqueue'>;
  bus: LaneRunner;
  labelOf: LabelOf;
  languages: Pick<Languages, 'say'>;
}

/** Makes `AskedElsewhere`. The lane of each chat keeps it before the answer, and its key makes a repeat a no-op. */
export function createAskedElsewhere({
  ledger,
  bus,
  labelOf,
  languages,
}: AskedElsewhereDeps): AskedElsewhere {
  return async ({ turnId, surfaces, message }) => {
    // No one asked for what a schedule or a subagent started.
    if (message.channel === 'system') return;
    const content = lineOf(message, labelOf, languages.say(message));
    await Promise.all(
      surfaces.map(async ({ address }) => {
        const place = parseAddress(address);
        if (place.channel === 'http') return;
        const delivery = {
          ref: `${turnId}:asked@${address}`,
          message: { ...place, content, media: [], buttons: [] },
        };
        bus.runHeads(await ledger.enqueue(address, delivery, bus.claimingNode('out')));
      }),
    );
  };
}

/** `**Ada on Telegram:** the question`, its markup as text. */
function lineOf(message: InboundMessage, labelOf: LabelOf, say: Say): string {
  const name = plainName(message.senderName ?? '');
  const network = networkOf({ address: addressOf(message) }, labelOf);
  const text = escapeMarkdown(clipEnd(oneLine(message.content), MAX_REPEATED));
  const values = { name: name === '' ? say('surfaces.somebody') : name, network, text };
  const count = message.media.length;
  return count === 0 ? say('surfaces.asked', values) : say('surfaces.asked_files', { ...values, count });
}
