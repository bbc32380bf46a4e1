/** Draws the conversation: groups of turns, the lines between them, and the button for earlier messages. */
import { Component, type JSX, type RefObject, createRef } from 'preact';
import { Time } from '../parts/time.tsx';
import { dayAndClock, say } from '../texts.ts';
import type { Conversation, Item } from './conversation.ts';
import type { Group } from './groups.ts';
import { TurnView } from './turn/turn-view.tsx';
import type { TurnHost } from './turn/turn.ts';

/** The conversation of the open chat. */
export function Transcript({ conversation }: { conversation: Conversation }): JSX.Element {
  return (
    <>
      <button
        type="button"
        class="earlier"
        hidden={!conversation.hasEarlier.value}
        onClick={() => void conversation.loadEarlier()}
      >
        {say('page.chat.earlier')}
      </button>
      {conversation.groups.value.map((group) => (
        <GroupView key={group.key} group={group} chat={conversation.host} />
      ))}
    </>
  );
}

interface GroupProps {
  group: Group<Item>;
  chat: TurnHost;
}

/**
 * A group that is laid out at first wherever it is: its height is known from then on, so that nothing moves when it comes
 * into view.
 */
class GroupView extends Component<GroupProps> {
  readonly #element: RefObject<HTMLDivElement | null> = createRef();

  override shouldComponentUpdate({ group }: GroupProps): boolean {
    return group !== this.props.group;
  }

  override componentDidMount(): void {
    // The texts are drawn in the first frame.
    requestAnimationFrame(() => requestAnimationFrame(() => this.#element.current?.classList.remove('new')));
  }

  override render({ group, chat }: GroupProps): JSX.Element {
    return (
      <div ref={this.#element} class="turns new">
        {group.items.map((item) =>
          'turn' in item ? (
            <TurnView key={item.key} id={item.key} turn={item.turn} chat={chat} />
          ) : (
            <p key={item.key} class="reset-line">
              <span>
                {say('page.chat.reset')} · <Time at={item.resetAt} format={dayAndClock} />
              </span>
            </p>
          ),
        )}
      </div>
    );
  }
}
