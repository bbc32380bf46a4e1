/** The passage that an answer cites, marked in its document, in a dialog. */
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import type { OpenedCitation } from '../../../../../src/protocol/knowledge.ts';
import { messageOf } from '../../failures/in-place.ts';
import { Dialog, showDialog } from '../../parts/dialog.tsx';
import { say } from '../../texts.ts';

/** Opens the dialog; it is filled when the passage has arrived. */
export function showCitation(title: string, opening: Promise<OpenedCitation>): void {
  const reading = signal<OpenedCitation | { problem: string } | undefined>(undefined);
  opening.then(
    (value) => (reading.value = value),
    (error: unknown) => (reading.value = { problem: messageOf(error) }),
  );
  showDialog((close) => (
    <Dialog class="trace widest" title={title} close={close}>
      <div class="citation-body" aria-live="polite" tabIndex={0}>
        {reading.value === undefined ? (
          <p class="quiet">{say('page.trace.reading')}</p>
        ) : 'problem' in reading.value ? (
          <p class="error-text">{reading.value.problem}</p>
        ) : (
          <Passage opened={reading.value} />
        )}
      </div>
    </Dialog>
  ));
}

/** The passage, marked, between those around it. */
function Passage({
  opened: { state, before: previous, content, after: next, url },
}: {
  opened: OpenedCitation;
}): JSX.Element {
  return (
    <>
      {state !== 'same' && (
        <p class="settings-note" role="status">
          {say(state === 'changed' ? 'page.citation.changed' : 'page.citation.removed')}
        </p>
      )}
      {url !== undefined && (
        <p>
          <a href={url} target="_blank" rel="noopener noreferrer nofollow">
            {say('page.citation.whole')}
          </a>
        </p>
      )}
      {previous.map((text, nth) => (
        <p key={`before ${nth}`} class="passage" dir="auto">
          {text}
        </p>
      ))}
      <p class="passage" dir="auto">
        <mark>{content}</mark>
      </p>
      {next.map((text, nth) => (
        <p key={`after ${nth}`} class="passage" dir="auto">
          {text}
        </p>
      ))}
    </>
  );
}
