/**
 * What happens in all chats: one stream for all tabs of a browser, which allows few connections to one server. The open chat has a
 * second one, with its texts, that begins where the last one broke off: this one cannot carry those of all chats, nor repeat any.
 */
import { api, type ApiError } from '../api.ts';
import type { AgentEvent } from '../../../../src/protocol/event.ts';
import { keepOpen } from '../follow.ts';
import { tokenDigest } from '../requests.ts';

/** What lists and questions show changes with these. */
const SHOWN = new Set([
  'message_received',
  'message_sent',
  'queue_position',
  'turn_started',
  'turn_ended',
  'approval_needed',
  'approval_decided',
  'profile_switched',
  'session_titled',
  'session_deleted',
  'cron_executed',
]);

type ListEvent = Pick<AgentEvent, 'type' | 'sessionKey'>;

/**
 * Follows the events of all chats for as long as the page is open. One tab holds the stream and passes the events on.
 */
export async function followLists(handlers: {
  event: (event: ListEvent) => void;
  open: () => void;
  refused: (error: ApiError) => void;
}) {
  const name = `parley-events-${await tokenDigest()}`;
  const others = new BroadcastChannel(name);
  others.addEventListener('message', ({ data }) => (data === null ? handlers.open() : handlers.event(data)));
  const tell = others.postMessage.bind(others);
  const hold = () =>
    keepOpen((signal) => api.openListEvents(signal), {
      open: () => {
        tell(null);
        handlers.open();
      },
      data: (data) => {
        const event: ListEvent = JSON.parse(data);
        if (!SHOWN.has(event.type)) return;
        tell(event);
        handlers.event(event);
      },
      refused: handlers.refused,
    });
  // Without locks (a page that is not on a secure address) each tab has its own stream.
  if (navigator.locks === undefined) await hold();
  else await navigator.locks.request(name, hold);
}
