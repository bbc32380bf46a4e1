/** The dialog of the chats that share the open conversation: lists them, gives and takes codes, separates. */
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { LinkCommand } from '../../../../src/protocol/sessions/surfaces.ts';
import { Dialog, showDialog } from '../parts/dialog.tsx';
import { Act, Moment, Row, Rows } from '../parts/rows.tsx';
import { WithCode } from '../parts/with-code.tsx';
import { say, sayParts } from '../texts.ts';
import { type LinkedChats, LinkQuestion, placeOf } from './linked-chats.tsx';

/** Opens the dialog. */
export function showLinked(linked: LinkedChats): void {
  showDialog((close) => <LinkedDialog linked={linked} close={close} />);
}

function LinkedDialog({ linked, close }: { linked: LinkedChats; close: () => void }): JSX.Element {
  useEffect(() => linked.follow(close), []);
  return (
    <Dialog id="linked" title={say('page.linked')} close={close}>
      {linked.others.value.length > 0 && (
        <Rows label={say('page.linked.list')} empty="">
          {linked.others.value.map((chat) => {
            const where = placeOf(chat);
            const about = sayParts('page.linked.since', { moment: <Moment at={chat.linkedAt} /> });
            return (
              <Row key={chat.address} title={where} about={about}>
                <Act
                  label={say('page.linked.separate')}
                  name={say('page.linked.separate_of', { where })}
                  press={() => void linked.separate(chat)}
                />
              </Row>
            );
          })}
        </Rows>
      )}
      <LinkQuestion id="linked-asks" linked={linked} />
      {linked.key.startsWith('http:') && <Codes linked={linked} />}
      <p id="linked-note" role="status">
        {linked.note}
      </p>
    </Dialog>
  );
}

/** Only a chat of the page can give and take codes here. */
function Codes({ linked }: { linked: LinkedChats }): JSX.Element {
  const given = linked.given.value;
  const enter = async (form: HTMLFormElement): Promise<void> => {
    const field = form.elements.namedItem('code');
    if (field instanceof HTMLInputElement && (await linked.enter(field.value))) form.reset();
  };
  return (
    <>
      <p class="quiet">
        <WithCode text={say('page.linked.how')} />
      </p>
      <p>
        <button id="give-code" type="button" onClick={() => void linked.give()}>
          {say('page.linked.give')}
        </button>
      </p>
      <p id="linked-given" class="linked-given" aria-live="polite">
        {given && sayParts('page.linked.code_sent', { command: <Commands commands={given} /> })}
      </p>
      <form
        class="linked-form"
        onSubmit={(event) => {
          event.preventDefault();
          void enter(event.currentTarget);
        }}
      >
        <input
          name="code"
          type="text"
          aria-label={say('page.linked.code')}
          placeholder={say('page.linked.code')}
          maxlength={100}
          autocomplete="off"
          spellcheck={false}
          required
        />
        <button type="submit" class="primary">
          {say('page.linked.enter')}
        </button>
      </form>
    </>
  );
}

function Commands({ commands }: { commands: readonly LinkCommand[] }): JSX.Element {
  return (
    <span>
      {commands.map(({ command, networks }) => (
        <span key={command}>
          <code>{command}</code>
          {commands.length > 1 ? ` (${networks.join(', ')}) ` : ' '}
        </span>
      ))}
    </span>
  );
}
