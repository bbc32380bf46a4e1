/** Draws the conversation: groups of turns, the lines between them, and the button for earlier messages. */
import { Component, type JSX, type RefObject, createRef } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { run } from '../failures/show-error.ts';
import { Icon, Logo } from '../parts/icon.tsx';
import { Time } from '../parts/time.tsx';
import { dayAndClock, say, sayParts } from '../texts.ts';
import type { Chat } from './chat.ts';
import type { Conversation, Item } from './conversation.ts';
import type { Group } from './groups.ts';
import { TurnView } from './turn/turn-view.tsx';
import type { TurnHost } from './turn/turn.ts';

/** The conversation of a chat, or its greeting while it is empty, and the button to its end. */
export function Transcript({ chat }: { chat: Chat }): JSX.Element {
  const { conversation, composer } = chat;
  const { end } = conversation;
  const announcement = chat.announcement.value;
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (scroller.current !== null && content.current !== null)
      return end.attach(scroller.current, content.current);
    return undefined;
  }, [end]);
  return (
    <>
      <div ref={scroller} id="scroller" class={`scroller${end.isAtEnd.value ? ' at-end' : ''}`} tabIndex={-1}>
        {chat.isEmpty.value && <Greeting send={(prompt) => chat.send(prompt)} />}
        <div
          ref={content}
          id="transcript"
          class={`transcript${composer.isWritable ? ' writable' : ''}`}
          role="log"
          aria-label={say('page.conversation')}
          aria-live="off"
        >
          <Groups conversation={conversation} />
        </div>
      </div>
      <button
        id="to-bottom"
        class="to-bottom"
        type="button"
        aria-label={say('page.to_bottom')}
        hidden={end.isAtEnd.value}
        onClick={() => end.go()}
      >
        <Icon name="down" />
      </button>
      <p id="announcer" class="visually-hidden" aria-live="polite">
        {/* An element of its own: the same words are said again. */}
        <span key={announcement.nth}>{announcement.text}</span>
      </p>
    </>
  );
}

const STARTERS = [say('page.greeting.explain'), say('page.greeting.plan'), say('page.greeting.write')];

/** A question, and prompts that begin a conversation as they are; `send` sends one. */
function Greeting({ send }: { send: (prompt: string) => void }): JSX.Element {
  return (
    <div id="greeting" class="greeting">
      <Logo size={48} />
      <p class="greeting-text">{say('page.greeting.what')}</p>
      <div class="starters">
        {STARTERS.map((prompt) => (
          <button key={prompt} type="button" class="starter" onClick={() => send(prompt)}>
            {prompt}
          </button>
        ))}
      </div>
      <p class="quiet">{sayParts('page.greeting.below', { slash: <code>/</code> })}</p>
    </div>
  );
}

function Groups({ conversation }: { conversation: Conversation }): JSX.Element {
  return (
    <>
      <button
        type="button"
        class="earlier"
        hidden={!conversation.hasEarlier.value}
        onClick={() => run(conversation.loadEarlier())}
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
