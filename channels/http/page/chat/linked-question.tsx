/** The question of a chat that would like to share the open conversation. */
import type { JSX } from 'preact';
import { say } from '../texts.ts';
import { type LinkedChats, placeOf } from './linked-chats.ts';

/** The question of another chat, where there is one. */
export function LinkQuestion({ linked, id }: { linked: LinkedChats; id: string }): JSX.Element {
  const asks = linked.asks.value;
  const group = asks?.place === 'group' ? ` ${say('link.group_reads_here')}` : '';
  return (
    <div id={id} class="approvals" aria-live="polite" hidden={asks === null}>
      {asks && (
        <div class="approval">
          <p>{`${say('page.linked.would', { where: placeOf(asks) })}${group} ${say('link.decline_strangers')}`}</p>
          <div class="approval-foot">
            <button type="button" class="primary" onClick={() => void linked.answer(asks, true)}>
              {say('link.join')}
            </button>
            <button type="button" onClick={() => void linked.answer(asks, false)}>
              {say('link.decline')}
            </button>
          </div>
        </div>
      )}
    </div>
  );
}
