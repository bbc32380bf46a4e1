/** What an empty chat shows: a question, and prompts that begin a conversation as they are. */
import type { JSX } from 'preact';
import { byId } from '../dom.ts';
import { say, sayParts } from '../texts.ts';

const STARTERS = [say('page.greeting.explain'), say('page.greeting.plan'), say('page.greeting.write')];

/** The greeting; `send` sends a prompt. */
export function Greeting({ send }: { send: (prompt: string) => void }): JSX.Element {
  return (
    <div id="greeting" class="greeting">
      <img src={byId('icon', HTMLLinkElement).href} alt="" width={48} height={48} />
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
